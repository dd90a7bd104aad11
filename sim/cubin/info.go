// The .nv.info records: attributes of the file's functions, as NVIDIA's tools write them.
//
// A record is: format byte, attribute byte, then 2 bytes of value (or of padding), or, in format 4,
// a 16-bit length and that many bytes. Attribute names and numbers are those that cuobjdump -elf
// prints; the tests compare with it.

package cubin

import "encoding/binary"

// The attributes we read. The first three stand in the section .nv.info, with the function's symbol
// in their first word; the others in .nv.info.<function>.
const (
	attrRegisters  = 0x2f // EIATTR_REGCOUNT: word 0 symbol, word 1 registers per thread
	attrFrame      = 0x11 // EIATTR_FRAME_SIZE: word 0 symbol, word 1 bytes of stack frame
	attrMinStack   = 0x12 // EIATTR_MIN_STACK_SIZE: word 0 symbol, word 1 bytes with callees
	attrMaxThreads = 0x05 // EIATTR_MAX_THREADS: x, y, z of .maxntid (__launch_bounds__)
	attrReqThreads = 0x10 // EIATTR_REQNTID: x, y, z of .reqntid
	attrParam      = 0x17 // EIATTR_KPARAM_INFO
	attrParam2     = 0x45 // EIATTR_KPARAM_INFO_V2: parameters of more than 4 KB (CUDA 12.1 and later)
	attrParamBytes = 0x19 // EIATTR_CBANK_PARAM_SIZE: bytes of all parameters
	attrMaxReg     = 0x1b // EIATTR_MAXREG_COUNT: the cap that held for the compile, 255 for none
	attrBarriers   = 0x4c // EIATTR_NUM_BARRIERS (13.0 and later; before that in the section flags)
	// EIATTR_EXTERNS: symbols that are called and not defined here (vprintf, malloc)
	attrExterns     = 0x0f
	attrClusterDims = 0x3d // EIATTR_CTA_PER_CLUSTER: x, y, z
	attrClusterSet  = 0x3e // EIATTR_EXPLICIT_CLUSTER: launched as clusters, whatever the dimensions
)

// records calls visit for every record of a section, and stops at the first that is cut off. value
// is 2 bytes for formats 1 to 3 and the payload for format 4.
func records(data []byte, visit func(attr byte, value []byte)) {
	for len(data) >= 4 {
		format, attr, value := data[0], data[1], data[2:4]
		data = data[4:]
		switch format {
		case 1, 2, 3: // no value, a byte, a 16-bit value
		case 4:
			n := int(binary.LittleEndian.Uint16(value))
			if n > len(data) {
				return
			}
			value, data = data[:n], data[n:]
		default:
			return
		}
		visit(attr, value)
	}
}

// word returns the i-th 32-bit word of a payload, 0 where there is none.
func word(value []byte, i int) uint32 {
	if len(value) < 4*i+4 {
		return 0
	}
	return binary.LittleEndian.Uint32(value[4*i:])
}

func half(value []byte, i int) uint16 {
	if len(value) < 2*i+2 {
		return 0
	}
	return binary.LittleEndian.Uint16(value[2*i:])
}

func three(value []byte) [3]int {
	return [3]int{int(word(value, 0)), int(word(value, 1)), int(word(value, 2))}
}

// own takes the records of .nv.info.<kernel>.
func (k *Kernel) own(data []byte) {
	records(data, func(attr byte, value []byte) {
		switch attr {
		case attrMaxThreads:
			k.MaxBlock = three(value)
		case attrReqThreads:
			k.Required = three(value)
		case attrParam:
			// word 0 index, halves 2 and 3 ordinal and offset, word 2: bits 0-7 pointee's alignment, 8-11
			// space, 12-16 constant bank, 18-31 size.
			if len(value) >= 12 {
				k.Params = append(k.Params, Param{int(half(value, 2)), int(half(value, 3)),
					int(word(value, 2) >> 18)})
			}
		case attrParam2:
			// word 0 index, halves 2 to 4 ordinal, offset and size.
			if len(value) >= 12 {
				k.Params = append(k.Params, Param{int(half(value, 2)), int(half(value, 3)),
					int(half(value, 4))})
			}
		case attrParamBytes:
			k.ParamBytes = int(half(value, 0))
		case attrBarriers:
			k.Barriers = int(value[0])
		case attrExterns:
			k.Calls = k.Calls || len(value) >= 4
		case attrClusterDims:
			k.Cluster = three(value)
		case attrClusterSet:
			k.ClusterLaunch = true
		}
	})
}
