package driver

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gnvcc/cache"
)

// The nvlink stage: relocatable cubins in host objects and archives in, one cubin out. It changes nothing. It writes the link
// down with its inputs, so that the tuner can link a candidate in a kernel's place.

// An nvlinkCall is an nvlink command, read.
type nvlinkCall struct {
	args   []string
	inputs []int // indexes of words that name files
	out    int   // index of what follows -o
	target string
	lto    bool // nvlink compiles by itself
}

// nvlinkValued are nvlink's options whose value is the next word, from nvlink --help of 11.8 to 13.5; behind '=' it stands in the word itself.
var nvlinkValued = set(`
	-o --output-file -arch --arch -L --library-path -l --library -m --machine --register-link-binaries -reg-link-binaries --host-ccbin -ccbin
	-cpu-arch --cpu-arch -Xptxas --ptxas-options -Xnvvm --nvvm-options -maxrregcount --maxrregcount -e --kernels-used --variables-used
	-nvvmpath --nvvmpath --split-compile -split-compile --split-compile-extended -split-compile-extended -time --time -optf --options-file
	--edit-linker-script --gen-host-linker-script -aug-hls --host-linker-options -Xlinker --dot-file -dot-file
`)

func readNvlink(args []string) (*nvlinkCall, error) {
	c := &nvlinkCall{args: args, out: -1}
	for i := 0; i < len(args); i++ {
		word := args[i]
		name, value, has := strings.Cut(word, "=")
		switch {
		case !strings.HasPrefix(word, "-"):
			c.inputs = append(c.inputs, i)
			continue
		case name == "-lto" || name == "--link-time-opt" || name == "-dlto":
			c.lto = true
		case name == "-optf" || name == "--options-file":
			return nil, fmt.Errorf("an option file: %w", errAside)
		}
		if nvlinkValued[word] {
			if i++; i >= len(args) {
				return nil, fmt.Errorf("%s has no value: %w", word, errAside)
			}
			value = args[i]
			if word == "-o" || word == "--output-file" {
				c.out = i
			}
		} else if !has {
			continue
		}
		if name == "-arch" || name == "--arch" {
			c.target = value
		}
	}
	if c.out < 0 || len(c.inputs) == 0 || c.target == "" {
		return nil, fmt.Errorf("no input, no -o or no target: %w", errAside)
	}
	return c, nil
}

// placeInput stands for an input file in recorded arguments.
func placeInput(n int) string { return "<" + strconv.Itoa(n) + ">" }

func (c *nvlinkCall) template() []string {
	args := append([]string(nil), c.args...)
	for n, at := range c.inputs {
		args[at] = placeInput(n)
	}
	args[c.out] = placeOut
	return args
}

// maxLinked is how much of a link's inputs is kept, bytes. More than that (a static libtorch_cuda) is not copied aside; the paths are
// written down all the same.
const maxLinked = 256 << 20

func (s *stage) nvlink() error {
	if s.store == nil {
		return fmt.Errorf("%w: %w", errNoStore, errAside)
	}
	c, err := readNvlink(s.words[1:])
	if err != nil {
		return err
	}
	end, err := s.run(nil)
	if err != nil || !end.ok() {
		return err
	}
	content, err := os.ReadFile(c.args[c.out])
	if os.IsNotExist(err) {
		return nil // nothing to link on the device
	}
	if err != nil {
		return fmt.Errorf("read the linked cubin: %w", err)
	}
	hash := cache.Hash(content)
	if !hasKernels(content) {
		return nil
	}
	var inputs []cache.LinkInput
	room := int64(maxLinked)
	names := ""
	for _, at := range c.inputs {
		in := cache.LinkInput{Path: c.args[at]}
		info, err := os.Stat(in.Path)
		if err != nil {
			return fmt.Errorf("look at a linked file: %w", err)
		}
		if room -= info.Size(); room >= 0 {
			if in.Object, err = s.store.PutObjectFile(in.Path); err != nil {
				return fmt.Errorf("keep a linked file: %w", err)
			}
		}
		names += in.Path + "\x00" + in.Object + "\x00"
		inputs = append(inputs, in)
	}
	note := hashOf("link 1", s.command, hash, temporaryName().ReplaceAllString(names, "tmpxft_"))
	if _, ok := memoNoted.Get(s.store, note); ok {
		return nil
	}
	l := cache.Link{
		Command: s.command, Nvlink: s.tool, Args: c.template(), Dir: s.dir, Inputs: inputs, Target: c.target,
		Cubin: hash, Time: time.Now().UTC(),
	}
	if err := s.store.Spool(cache.Links, assemblyKey(hash, s.command), l); err != nil {
		return fmt.Errorf("spool the link: %w", err)
	}
	if err := memoNoted.Put(s.store, note, hash); err != nil {
		return fmt.Errorf("note the link: %w", err)
	}
	return nil
}

// copyFile copies a file.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("copy %s to %s: %w", filepath.Base(from), to, err)
	}
	return nil
}
