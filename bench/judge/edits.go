package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Edits of a kernel's text. All that a rule can do in a kernel is listed; main takes some of it.

// An edit is a file with one thing changed in it.
type edit struct {
	what string // the rule
	line string // where, and what became of it
	text string
}

// body is where a kernel's body stands in a file: behind its brace, before the last.
func body(text, name string) (from, to int, err error) {
	at := regexp.MustCompile(`__global__[^;{]*\b` + name + `\(`).FindStringIndex(text)
	if at == nil {
		return 0, 0, fmt.Errorf("no kernel %s", name)
	}
	from = at[1] + strings.IndexByte(text[at[1]:], '{') + 1
	for depth, i := 1, from; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return from, i, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("kernel %s has no end", name)
}

// A rule puts something in the place of what it finds; "" for nothing to be done there.
type rule struct {
	what string
	find *regexp.Regexp
	put  func(m []string) string
}

func by(what, find, put string) rule {
	re := regexp.MustCompile(find)
	return rule{what, re, func(m []string) string {
		return re.ReplaceAllString(m[0], put)
	}}
}

var wrongRules = []rule{
	by("off by one", ` < `, " <= "), by("off by one", ` <= `, " < "), by("off by one", ` >= `, " > "),
	by("off by one", `= 0; (\w+) <`, "= 1; $1 <"), by("off by one", `\[(\w+)\]`, "[$1 + 1]"),
	by("off by one", ` - 1\b`, " - 2"), by("off by one", ` \+ 1\b`, " + 2"),
	by("missing barrier", `__syncthreads\(\);`, ";"),
	by("missing barrier", `__shfl_xor_sync\(~0u, (\w+), d\)`, "$1"),
	by("swapped operands", `([\w.]+) - ([\w.]+)`, "$2 - $1"),
	by("swapped operands", ` - `, " + "), by("swapped operands", ` \* `, " + "),
	by("swapped operands", ` \+ `, " - "), by("swapped operands", `\.x\b`, ".y"),
	by("swapped operands", `\.y\b`, ".x"), by("swapped operands", ` / `, " * "),
	by("race", `atomicAdd\(&?([^,]+), ([^)]+)\)`, "($1 += $2)"),
	by("race", `atomicCAS\(([^,]+), 0, 1\)`, "(*($1) = 1, 0)"),
	by("race", `atomicExch\(([^,]+), 0\);`, ";"),
	by("race", `\[threadIdx\.x\] =`, "[threadIdx.x / 2] ="),
	by("dropped store", `\b\w+(\[[^;=]*\])+ [+*-]?= [^;=]+;`, ";"),
	{"constant", regexp.MustCompile(`\b(\d+\.\d+)f\b`), func(m []string) string {
		v, _ := strconv.ParseFloat(m[1], 64)
		return fmt.Sprintf("(%sf)", strconv.FormatFloat(v+0.5, 'f', 4, 64))
	}},
}

var harmlessRules = []rule{
	by("unroll pragma", `(?m)^( *)for \(`, "#pragma unroll 1\n${1}for ("),
	by("unroll pragma", `(?m)^( *)for \(`, "#pragma unroll 2\n${1}for ("),
	by("unroll pragma", `(?m)^( *)for \(`, "#pragma unroll 4\n${1}for ("),
	by("commuted sum", `blockIdx\.(\w) \* blockDim\.\w \+ threadIdx\.\w`,
		"threadIdx.$1 + blockIdx.$1 * blockDim.$1"),
	by("commuted sum", `\[(\w+) \* (\w+) \+ (\w+)\]`, "[$3 + $1 * $2]"),
	by("commuted sum", `\[(\w+) \+ (\w+)\]`, "[$2 + $1]"),
	by("turned comparison", `([a-z]\w*) < (\w+)\b`, "$2 > $1"),
	by("turned comparison", `if \((\w+) >= (\w+)\) return;`, "if (!($1 < $2)) return;"),
	by("comment", `;\n`, "; // nothing is changed here\n"),
	by("step", `\b([a-z])\+\+\)`, "$1 += 1)"),
	by("order of declarations", `int (\w+) = ([^;,]+), (\w+) = ([^;,]+);`, "int $3 = $4, $1 = $2;"),
	by("order of declarations", `float (\w+) = ([^;,]+), (\w+) = ([^;,]+);`, "float $3 = $4, $1 = $2;"),
	by("braces", `(?m)^( *)(if \([^;{]*\) return;)$`, "$1{ $2 }"),
}

// edits are all that some rules can do in a kernel.
func edits(text, name string, rules []rule) (out []edit, err error) {
	from, to, err := body(text, name)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		for _, at := range r.find.FindAllStringSubmatchIndex(text[from:to], -1) {
			begin, end := from+at[0], from+at[1]
			if strings.HasPrefix(r.what, "off") && declares(text, begin) ||
				strings.HasPrefix(r.what, "unroll") && strings.HasSuffix(lineBefore(text, begin), "unroll") {
				continue
			}
			var m []string
			for k := 0; k < len(at); k += 2 {
				m = append(m, text[from+max(at[k], 0):from+max(at[k+1], 0)])
			}
			now := r.put(m)
			if now == m[0] {
				continue
			}
			out = append(out, edit{r.what, fmt.Sprintf("line %d: %s -> %s",
				1+strings.Count(text[:begin], "\n"), strings.TrimSpace(m[0]), strings.TrimSpace(now)),
				text[:begin] + now + text[end:]})
		}
	}
	return out, nil
}

// declares tells of a place in a line that declares an array.
func declares(text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return regexp.MustCompile(`^\s*(__shared__|float|int|double|unsigned)\b[^=;]*$`).MatchString(line) &&
		strings.HasPrefix(text[at:], "[")
}

func lineBefore(text string, at int) string {
	lines := strings.Split(strings.TrimRight(text[:at], " \n"), "\n")
	return lines[len(lines)-1]
}

var local = regexp.MustCompile(`(?m)^ +(?:int|float|double|unsigned|bool|size_t|float2|float4) (\w+) =`)

// renames are local variables with other names.
func renames(text, name string) (out []edit, err error) {
	from, to, err := body(text, name)
	if err != nil {
		return nil, err
	}
	for _, m := range local.FindAllStringSubmatch(text[from:to], -1) {
		re := regexp.MustCompile(`(^|[^.\w])` + m[1] + `\b`)
		now := re.ReplaceAllString(text[from:to], "${1}"+m[1]+"_of_mine")
		out = append(out, edit{"renamed variable", m[1], text[:from] + now + text[to:]})
	}
	return out, nil
}
