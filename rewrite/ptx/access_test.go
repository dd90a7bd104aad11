package ptx

import "testing"

func TestSpace(t *testing.T) {
	for op, want := range map[string]string{
		"ld.global.f32": "global", "ld.f32": "", "st.shared::cta.u32": "shared", "ld.param::func.b64": "param",
		"ld.shared::cluster.u32": "shared", "ld.volatile.local.v2.f32": "local", "ld.const.u8": "const",
		"cp.async.ca.shared.global": "shared", "cvta.to.global.u64": "global", "ld": "",
		"ld.L1::evict_last.L2::128B.b32": "", "atom.relaxed.gpu.global.add.u32": "global",
	} {
		if got := Space([]byte(op)); got != want {
			t.Errorf("Space(%s) = %q, not %q", op, got, want)
		}
	}
	for op, want := range map[string]bool{"ld.shared.u32": true, "ld.shared::cta.u32": true,
		"ld.shared::cluster.u32": false, "ld.u32": false, "ld.global.u32": false} {
		if OwnShared([]byte(op)) != want {
			t.Errorf("OwnShared(%s) is not %v", op, want)
		}
	}
	for op, want := range map[string]bool{"ld.volatile.global.u32": true, "ld.weak.global.u32": false,
		"st.release.gpu.u32": true, "ld.mmio.relaxed.sys.u32": true, "ld.global.cs.u32": false} {
		if Strong([]byte(op)) != want {
			t.Errorf("Strong(%s) is not %v", op, want)
		}
	}
}

// TestKindOf: no word that makes an access strong, or gives it another scope, has a kind.
func TestKindOf(t *testing.T) {
	for _, word := range []string{"volatile", "relaxed", "acquire", "release", "mmio", "cv", "wt", "cta",
		"gpu", "sys", "cluster", "shared::cluster", "L2::cache_hint", "unified", "v3", "f16", ""} {
		if KindOf(word) != OtherWord {
			t.Errorf("%q has a kind", word)
		}
	}
	for word, want := range map[string]WordKind{"weak": WeakWord, "global": SpaceWord, "b128": TypeWord,
		"v8": VectorWord, "nc": ReadOnlyWord, "lu": OperatorWord, "L1::evict_normal": PriorityWord,
		"L2::256B": PrefetchWord} {
		if KindOf(word) != want {
			t.Errorf("%q has the kind %d, not %d", word, KindOf(word), want)
		}
	}
}
