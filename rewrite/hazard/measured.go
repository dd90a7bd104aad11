package hazard

// What was measured of a hint, by device. A danger is one on every GPU; a hint is worth what it
// gains, and without a figure of the device at hand it is not given.

// named are the times of examples/wavefront in microseconds (examples/recorded-h200.json): locks,
// named barriers, one barrier for all warps. A lock that is read before it is tried (spin=test)
// took 0.940 of the first, and gnvcc tune tries that.
var named = map[string]string{
	"NVIDIA H200": "on this GPU, NVIDIA H200, examples/wavefront takes 174 us so, 179 with such locks, " +
		"168 with the lever spin, and 145 with one barrier for all warps",
}

// On gives the findings for a device, "" where none is known: hints with what was measured on it,
// and no others.
func On(device string, found []Finding) []Finding {
	var out []Finding
	for _, f := range found {
		if f.Class == Named {
			figure, ok := named[device]
			if !ok {
				continue
			}
			f.Advice += ": " + figure
		}
		out = append(out, f)
	}
	return out
}
