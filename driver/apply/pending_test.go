package apply

import (
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
	"gnvcc/driver/standing"
)

// TestReasonLasts: apply does not try a recipe again that gave other code than was measured, until
// other code has been measured for it.
func TestReasonLasts(t *testing.T) {
	store, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := drivertest.Seen("NVIDIA H200", "unroll=2", 1)
	d.Evidence.Normals = map[string]string{"unroll=2": "aaaa"}
	a := cache.Assembly{Target: "sm_90", Args: []string{"-arch=sm_90", "k.ptx", "-o", "k.cubin"},
		Kernels: []cache.Kernel{{Name: "k", Identity: d.Identity, Unapplied: &cache.Unapplied{
			Recipe: "unroll=2", Why: "compiles to different code here", Lasting: true,
			Normals: standing.HashOf(d.Evidence.Normals)}}}}
	changes := func() (n int, refused error) {
		t.Helper()
		r := &fileState{wanted: map[string]string{}, stands: map[string]standing.Wanted{}}
		drivertest.Kept(t, store, d)
		known := standing.Several{Store: store}
		defer known.Close()
		changes := r.changesOf(&known, a, environment.Of(nil), false)
		return len(changes), r.stands[d.Identity].Refused
	}
	if n, refused := changes(); n != 0 || refused != nil {
		t.Errorf("tried again: %d changes, %v", n, refused)
	}
	a.Kernels[0].Unapplied.Lasting = false
	if n, refused := changes(); n != 1 || refused != nil {
		t.Errorf("refused for a full disk, say: %d changes, %v", n, refused)
	}
	a.Kernels[0].Unapplied.Lasting = true
	d.Evidence.Normals["unroll=2"], d.Time = "bbbb", d.Time.Add(1)
	if n, refused := changes(); n != 1 || refused != nil {
		t.Errorf("after another measurement: %d changes, %v", n, refused)
	}
	d.Evidence.Normals, d.Time = nil, d.Time.Add(1)
	if n, refused := changes(); n != 0 || refused == nil || !strings.Contains(refused.Error(),
		"tune again") {
		t.Errorf("without a measurement: %d changes, %v", n, refused)
	}
}
