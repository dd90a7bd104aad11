package judge

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// What compute-sanitizer says of a launch: its text, as NVIDIA's manual has it. A head stands
// behind "========= ", what belongs to it is indented further:
//
//	========= Invalid __global__ read of size 4 bytes
//	=========     at k(int *)+0x70 in edit.cu:12
//	=========     by thread (31,0,0) in block (1,0,0)
//	=========     Address 0x7f3c7ec000fc is out of bounds
//	========= ERROR SUMMARY: 1 error

// A Sanitizer is a list of its tools, as the user names them.
type Sanitizer []string

// Usual are those that a judgement asks where none are named.
const Usual = "memcheck,initcheck,racecheck"

// String is pflag.Value's.
func (s *Sanitizer) String() string { return strings.Join(*s, ",") }

// Type is pflag.Value's.
func (s *Sanitizer) Type() string { return "tools" }

// Set is pflag.Value's.
func (s *Sanitizer) Set(text string) error {
	if text == "usual" { // --sanitize alone
		text = Usual
	}
	*s = strings.Split(text, ",")
	for _, tool := range *s {
		if !slices.Contains([]string{"memcheck", "initcheck", "racecheck", "synccheck"}, tool) {
			return fmt.Errorf("compute-sanitizer has no tool %q: %s,synccheck are there", tool, Usual)
		}
	}
	return nil
}

// Sanitized is what one run of it found.
type Sanitized struct {
	Findings []string // one line each
	Errors   int      // how many it counts
	Trouble  string   // why nothing can be concluded from it, "" where it can
}

var (
	sanitizerSum = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:ERROR SUMMARY: ([\d,]+) errors?$|RACECHECK SUMMARY: [\d,]+ hazards? displayed \(([\d,]+) error)`)
	})
	sanitizerMisses = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`Internal Sanitizer |might go undetected|might be incorrect|errors were skipped`)
	})
	sanitizerHead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:(?i:error): )?(Invalid |Potential invalid |Uninitialized |Race reported between |(?:\(.*\) )?Potential \w+ hazard |Barrier error |Stack overflow|Malloc/Free error )`)
	})
)

// ReadSanitized reads it.
func ReadSanitized(text string) (out Sanitized) {
	sums, other, at := 0, "", -1
	for line := range strings.Lines(text) {
		line, ours := strings.CutPrefix(strings.TrimRight(line, " \r\n"), "=========")
		if !ours || line == "" {
			at = -1
			continue
		}
		word := strings.TrimSpace(line)
		if strings.HasPrefix(line, "   ") {
			if at >= 0 {
				out.Findings[at] = withDetail(out.Findings[at], word)
			}
			continue
		}
		at = -1
		if m := sanitizerSum().FindStringSubmatch(word); m != nil {
			n, _ := strconv.Atoi(strings.ReplaceAll(m[1]+m[2], ",", ""))
			sums, out.Errors = sums+1, out.Errors+n
		} else if sanitizerHead().MatchString(word) {
			at = len(out.Findings)
			out.Findings = append(out.Findings, word)
		} else if word != "COMPUTE-SANITIZER" && other == "" {
			other = word
		}
	}
	switch {
	case sums == 0:
		out.Trouble = "it came to no end"
	case out.Errors > 0 && len(out.Findings) == 0:
		out.Trouble = fmt.Sprintf("its %d errors can't be read", out.Errors)
	case out.Errors == 0 && sanitizerMisses().MatchString(text):
		out.Trouble = "it could not watch all of the launch"
	}
	if out.Trouble != "" && other != "" {
		out.Trouble += ": " + other
	}
	return out
}

// withDetail puts what belongs to a finding behind it, what an access is in front.
func withDetail(finding, detail string) string {
	for _, kind := range []string{"out of bounds", "misaligned"} {
		if rest, ok := strings.CutPrefix(finding, "Invalid "); ok &&
			strings.HasSuffix(detail, "is "+kind) {
			return strings.ReplaceAll(kind, " ", "-") + " " + rest
		}
	}
	for _, word := range []string{"at ", "by ", "and Read ", "and Write ", "Read ", "Write "} {
		if strings.HasPrefix(detail, word) {
			return finding + " " + detail
		}
	}
	return finding
}
