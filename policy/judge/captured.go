package judge

import (
	"context"
	"encoding/binary"
	"fmt"

	"gnvcc/profile/capture"
	"gnvcc/sim/emulate"
)

// Captured launches, run without a GPU: memory and arguments are the program's own.

// mostHeld is the most memory of a launch that is run so, bytes: it is copied for each order.
const mostHeld = 64 << 20

// Captured adds a captured launch of the original, as it was and with its outputs overwritten.
func (b *Bench) Captured(ctx context.Context, s *capture.Store, m *capture.Manifest,
	types []string) error {
	what := "captured launch " + m.ID
	skip := func(format string, args ...any) error {
		b.Skipped = append(b.Skipped, what+": "+fmt.Sprintf(format, args...))
		return nil
	}
	var size int64
	for _, r := range m.Ranges {
		size += r.Size
	}
	if size > mostHeld {
		return skip("%d MiB are too many to be run without a GPU", size>>20)
	}
	ranges, held, err := s.Held(m)
	if err != nil {
		return err
	}
	args, params, err := m.Arguments()
	if err != nil {
		return err
	}
	p := &prepared{what: what, memory: emulate.NewMemory(), types: map[string]string{}, held: held,
		launch: emulate.Launch{Grid: m.Grid, Block: m.Block, Dynamic: m.Dynamic, Params: args}}
	for n, r := range m.Ranges {
		name := fmt.Sprintf("memory at %#x", r.Base)
		is := map[string]string{"float": "float", "double": "double"}[r.Numbers]
		for k, q := range params {
			if q[1] != 8 {
				continue
			}
			if at := binary.LittleEndian.Uint64(args[q[0]:]); at >= r.Base && at < r.Base+uint64(r.Size) {
				name = nameOf(k, 0)
				if at > r.Base {
					name = fmt.Sprintf("memory of #%d, which points to byte %d of it", k, at-r.Base)
				}
				if k < len(types) && types[k] != "" {
					is = types[k]
				}
				break
			}
		}
		if _, err := p.memory.Place(name, r.Base, ranges[n]); err != nil {
			return skip("%v", err)
		}
		p.types[name] = is
	}
	had := len(b.launches)
	if err := b.add(ctx, p); err != nil || len(b.launches) == had {
		return err
	}
	if x := b.poisoned(ctx, p); x != nil {
		return b.add(ctx, x)
	}
	return nil
}
