package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/policy"
	"gnvcc/policy/tuner"
	"gnvcc/rewrite/hazard"
	"gnvcc/rewrite/ptx"
)

// What a report says of locks and barriers: worked out anew from the PTX that builds have kept, so
// that it needs no tuning, and for the blocks of the launches that were seen, where there are any.
// Hints carry what was measured of them on the GPU that the kernel was tuned on, or that doctor has
// measured; where that is nothing, there are none.

// hazards prints what there is to say, nothing where there is nothing. meant are the kernels'
// identities, nil: all.
func hazards(w io.Writer, store *cache.Store, mine *scope, decisions []cache.Decision,
	meant map[string]bool) error {
	shapes, devices, device := make(map[string][][3]int), make(map[string]string), ""
	if m := tuner.Machine(store); m != nil {
		device = m.Device
	}
	for _, d := range decisions {
		devices[d.Identity] = d.Evidence.Device
		for _, l := range d.Evidence.Launches {
			shapes[d.Identity] = append(shapes[d.Identity], l.Block)
		}
	}
	type kernel struct{ name, identity string }
	wanted := make(map[string][]kernel) // by PTX
	var order []string
	for _, b := range record.Built(store) {
		if mine.folder != "" && !mine.kernels[b.Identity] {
			continue
		}
		if meant != nil && !meant[b.Identity] {
			continue
		}
		text := b.Assembly.PTX
		if wanted[text] == nil {
			order = append(order, text)
		}
		wanted[text] = append(wanted[text], kernel{b.Name, b.Identity})
	}
	told := make(map[string]bool)
	for _, hash := range order {
		text, err := store.Object(hash)
		// trimmed, or nothing to say
		if err != nil || !bytes.Contains(text, []byte("atom")) && !bytes.Contains(text, []byte("bar")) {
			continue
		}
		m, err := ptx.Parse(text)
		if err != nil {
			continue // builds leave such a file alone, and say so
		}
		for _, k := range wanted[hash] {
			found, err := hazard.Find(m, k.name, shapes[k.identity])
			if err != nil {
				continue
			}
			for _, f := range hazard.On(cmp.Or(devices[k.identity], device), found) {
				line := fmt.Sprintf("  %s: %s", policy.ShortName(k.name), f)
				if told[line] { // for another target
					continue
				}
				if len(told) == 0 {
					fmt.Fprint(w, "\nLocks and barriers, judged from the code (nothing was run):\n")
				}
				told[line] = true
				if _, err := fmt.Fprintln(w, line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tellHazards is hazards for a report: what goes wrong here must not spoil the rest.
func tellHazards(mine *scope, decisions []cache.Decision, meant map[string]bool) {
	store, err := openStore()
	if err == nil {
		err = hazards(stdout(), store, mine, decisions, meant)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gnvcc report: locks and barriers were not checked:", err)
	}
}
