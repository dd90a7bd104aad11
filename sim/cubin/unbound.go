package cubin

import (
	"encoding/binary"
	"fmt"
)

// noBound is the value of EIATTR_MAXREG_COUNT of a kernel that was compiled without a cap.
const noBound = 255

// Unbound returns a cubin in which a kernel is said to be compiled under no cap of its registers.
// Its code is as it was. nvlink alone reads that: it ends a link in which a kernel with a cap calls
// a function with more registers, and gives one without as many as the function has.
func Unbound(b []byte, kernel string) ([]byte, error) {
	c, err := readContainer(b)
	if err != nil {
		return nil, err
	}
	out, found := append([]byte(nil), b...), 0
	for _, s := range c.sections {
		if s.name != ".nv.info."+kernel {
			continue
		}
		records(s.data, func(attr byte, value []byte) {
			if attr == attrMaxReg && len(value) == 2 {
				at := int(s.offset) + cap(s.data) - cap(value) // value is a part of data
				binary.LittleEndian.PutUint16(out[at:], noBound)
				found++
			}
		})
	}
	if found != 1 {
		return nil, fmt.Errorf("the cubin has %d register caps of %s, not one", found, kernel)
	}
	return out, nil
}
