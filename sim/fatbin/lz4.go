package fatbin

import "errors"

var errLZ4 = errors.New("damaged LZ4 block")

// unLZ4 unpacks an LZ4 block (lz4_Block_format.md: a token, literals, then a match of at least 4
// bytes some way back) of at most full bytes.
func unLZ4(in []byte, whole int) ([]byte, error) {
	out := make([]byte, 0, min(whole, 255*len(in))) // a byte more gives at most 255
	// more reads the rest of a length whose four bits were full
	more := func(n int) (int, bool) {
		if n < 15 {
			return n, true
		}
		for len(in) > 0 {
			b := in[0]
			in = in[1:]
			n += int(b)
			if b != 255 || n > whole {
				return n, n <= whole
			}
		}
		return n, false
	}
	for len(in) > 0 {
		token := in[0]
		in = in[1:]
		n, ok := more(int(token >> 4))
		if !ok || n > len(in) || n > whole-len(out) {
			return nil, errLZ4
		}
		out, in = append(out, in[:n]...), in[n:]
		if len(in) == 0 { // the last sequence has no match
			return out, nil
		}
		if len(in) < 2 {
			return nil, errLZ4
		}
		back := int(in[0]) | int(in[1])<<8
		in = in[2:]
		if n, ok = more(int(token & 15)); !ok {
			return nil, errLZ4
		}
		if n += 4; back == 0 || back > len(out) || n > whole-len(out) {
			return nil, errLZ4
		}
		for range n { // what is copied may overlap what it makes
			out = append(out, out[len(out)-back])
		}
	}
	return nil, errLZ4
}
