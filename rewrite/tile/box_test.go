package tile

import (
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// TestParts: a distance is a number of rows and a column of whole elements, where it is constant but
// for the pitch's register; without a register the row is the nearest one, and both stay below a
// million.
func TestParts(t *testing.T) {
	const most = 1 << 20
	bytes := pitch{by: 256}
	register := pitch{"%r1", 4}
	for _, c := range []struct {
		p           pitch
		d           affine
		row, column int
		ok          bool
	}{
		{pitch{}, number(12), 0, 12, true},
		{pitch{}, number(13), 0, 13, false}, // no element begins there
		{bytes, number(256 + 8), 1, 8, true},
		{bytes, number(256 - 8), 1, -8, true}, // the next row is nearer
		{bytes, number(128), 1, -128, true},
		{bytes, number(124), 0, 124, true},
		{bytes, number(-128), 0, -128, true},
		{bytes, number(-132), -1, 124, true},
		{bytes, number(-512), -2, 0, true},
		{bytes, number((most - 1) * 256), most - 1, 0, true},
		{bytes, number(most * 256), most, 0, false},
		{bytes, number(-most * 256), -most, 0, false},
		{register, affine{"%r1": 12, "": 4}, 3, 4, true},
		{register, affine{"%r1": -8}, -2, 0, true},
		{register, affine{"%r1": 6}, 0, 0, false}, // no whole rows: it stays in the distance
		{register, affine{"%r2": 4}, 0, 0, false},
		{pitch{}, number(most), 0, most, false},
		{pitch{}, number(most - 4), 0, most - 4, true},
		{pitch{}, number(-most), 0, -most, false},
	} {
		got, ok := c.p.parts(c.d, 4)
		if ok != c.ok || ok && got != (slope{c.row, c.column}) {
			t.Errorf("%v by %+v: %+v, %v; want row %d, column %d, %v", c.d, c.p, got, ok, c.row, c.column, c.ok)
		}
	}
}

// TestTileable: which loads may come from a tile, and their width: plain loads from global memory of at
// most 16 bytes; negative: they are no .nc loads.
func TestTileable(t *testing.T) {
	for op, want := range map[string]int{
		"ld.global.nc.f32 %f1, [%rd1]":                         4,
		"ld.global.nc.u8 %r1, [%rd1]":                          1,
		"ld.global.nc.v2.f32 {%f1, %f2}, [%rd1]":               8,
		"ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]":     16,
		"ld.global.nc.L1::evict_last.L2::128B.f32 %f1, [%rd1]": 4,
		"ld.global.f32 %f1, [%rd1]":                            -4,
		"ld.shared.f32 %f1, [%rd1]":                            0,
		"ld.volatile.global.f32 %f1, [%rd1]":                   0,
		"ld.global.lu.f32 %f1, [%rd1]":                         0,
		"ld.global.nc.v4.f64 {%fd1, %fd2, %fd3, %fd4}, [%rd1]": 0,
		"st.global.f32 [%rd1], %f1":                            0,
		"ld.relaxed.gpu.global.f32 %f1, [%rd1]":                0,
	} {
		m, err := ptx.Parse([]byte(".version 8.8\n.target sm_100\n.address_size 64\n.visible .entry k()\n{\n" +
			".reg .b32 %r<2>; .reg .f32 %f<5>; .reg .f64 %fd<5>; .reg .b64 %rd<2>;\n" + op + ";\nret;\n}\n"))
		if err != nil {
			t.Fatal(op, err)
		}
		w, err := ir.Of(m.Entry("k"))
		if err != nil {
			t.Fatal(op, err)
		}
		width, readOnly := tileable(w.Inst(4))
		if width != max(want, -want) || width > 0 && readOnly != (want > 0) {
			t.Errorf("%s: %d bytes, read-only %v, not %d", op, width, readOnly, want)
		}
	}
}
