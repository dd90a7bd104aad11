package lowered

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const small = `typedef char __nv_bool;
# 3 "k.cu"
struct pair;
#include "crt/device_runtime.h"
struct pair {
int a;
float b[3];};
struct other { int this_is_not_reached; };
#include "common_functions.h"
#if !defined(__CUDABE__)
# 7 "/kit/include/crt/math_functions.h"
 __device_builtin__ ___device__(extern  __no_sc__) __attribute__((__nothrow__)) float sinf(float);
#endif
# 5 "k.cu"
static  __constant__  __var_used__ float table[4];
static  __constant__  __var_used__ float table[4] = {1.0F};
static  __device__  __var_used__ int unused;
___device__(static  __no_sc__) float _Z4helpPfi(float *, int);
___device__(static  __no_sc__) float _Z4helpPfi(
# 9 "k.cu"
float *p, 
# 9 "k.cu"
int n){
{
 float s;
# 10 "k.cu"
s = 0.0F;
{
 int i;
i = 0;
# 11 "k.cu"
for (; i < n; i++) { s += (sinf((p[i]))); } }
return s;
}}
__global__ __var_used__ void _Z1kPfi4pair(
float *a, 
int __val_param(n), 
struct pair q){__copy_param(int n,__val_param(n));
{
while (n > 3) { n--; }
for (; n < 8; n++) { (a[n]) += ((table)[n & 3]) + (q.a); }
(a[0]) = (_Z4helpPfi(a, n));
}}
__global__ __var_used__ void _Z1mPf(
float *a){
{
(a[0]) = (float)unused; 
}}
`

func TestSlice(t *testing.T) {
	u, err := Parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	k, err := u.Kernel("_Z1kPfi4pair")
	if err != nil {
		t.Fatal(err)
	}
	out, err := k.Slice()
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]int{"struct pair {": 1, "unused": 0, "this_is_not_reached": 0,
		"float sinf(float)": 1, "table[4]": 1, "_Z4helpPfi(": 3, "_Z1mPf": 0, "__global__ __var_used__": 1} {
		if got := bytes.Count(out, []byte(word)); got != want {
			t.Errorf("%q stands %d times in the slice, want %d", word, got, want)
		}
	}
	if _, err := u.Kernel("_Z4helpPfi"); err == nil {
		t.Error("a device function is taken for a kernel")
	}
}

// Whatever is cut off is refused, or gives a kernel with all of its text.
func TestCutOff(t *testing.T) {
	end := strings.Index(small, "__global__ __var_used__ void _Z1mPf") // of the kernel
	for n := range small {
		u, err := Parse([]byte(small[:n]))
		if err != nil {
			continue
		}
		if _, err := u.Kernel("_Z1kPfi4pair"); err == nil && n < end-1 {
			t.Fatalf("taken when cut off at %d", n)
		}
	}
}

func TestForeign(t *testing.T) {
	for _, text := range []string{"", "int f();", "# 1 \"k.cu\"\n__global__ void k() { }\n"} {
		if _, err := Parse([]byte(text)); !errors.Is(err, errForeign) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, bad := range []string{"int f( {", "char c = 'a;", "int a]", "/* x", "{", "struct", "int x = "} {
		if _, err := Parse([]byte(small + bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Declarators with parentheses have names, and are pointers.
func TestDeclarators(t *testing.T) {
	u, err := Parse([]byte(`#include "crt/device_runtime.h"
__global__ __var_used__ void k(
const double (*rows)[256][256], 
float (*__restrict__ __val_param(moved))[3], 
int (*call)(int, float *), 
float *const *__restrict__ deep, 
int list[4]){__copy_param(float (*__restrict__ moved)[3],__val_param(moved));
{
(rows[0][0][0]);
}}
`))
	if err != nil {
		t.Fatal(err)
	}
	k, err := u.Kernel("k")
	if err != nil {
		t.Fatal(err)
	}
	values, err := k.Values([]string{".u64", ".u64", ".u64", ".u64", ".u64"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range values {
		got = append(got, fmt.Sprintf("%s %s %v %d %s %s", v.Name, v.Type, v.Class, v.Bits, v.is, v.Why))
	}
	want := `rows const double* pointer 64 rows 
moved float* pointer 64 __val_param(moved) 
call int* pointer 64 call a pointer to a function
deep float*const*__restrict__ pointer 64 deep 
list int pointer 64 list `
	if strings.Join(got, "\n") != want {
		t.Errorf("values:\n%s", strings.Join(got, "\n"))
	}
}
