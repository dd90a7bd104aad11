package retune

import (
	"context"
	"os"

	"gnvcc/cache"
	"gnvcc/policy/tuner"
	"gnvcc/profile/capture"
	"gnvcc/profile/replay"
)

// What a Judging keeps from one edit to the next.

// mostTried is how many edits one store takes: its size is what bounds it, half a MB for each.
const mostTried = 200

// scratch is a store for what an edit gives: the user's says how the user's was made, and one PTX
// may come from both. It knows the toolkit from the edit before.
func (j *Judging) scratch() (*cache.Store, error) {
	if j.tried++; j.edits != nil && j.tried <= mostTried {
		return j.edits, nil
	}
	if j.edits != nil {
		os.RemoveAll(j.edits.Path())
	}
	folder, err := os.MkdirTemp(j.compiler.Folder(), "edit-")
	if err != nil {
		return nil, err
	}
	j.tried = 1
	j.edits, err = cache.Open(folder)
	return j.edits, err
}

// prepare starts the process of the next replay. It outlives the judgement that begins it: the next
// edit comes when it comes.
func (j *Judging) prepare(ctx context.Context, next *capture.Manifest) {
	if j.standby == nil && ctx.Err() == nil {
		j.standby = tuner.ThisGPU(j.o.GPU).Prepare(context.WithoutCancel(ctx), replay.Options{
			Program: j.replayer, Agent: j.agent, Scratch: j.compiler.Folder(), Limit: longestRun},
			next.UUID)
	}
}

// mostKept is how much of captured launches is kept as files for the next edit, bytes.
const mostKept = 1 << 30

// unpack makes a file of a captured launch, or has it from an edit before.
func (j *Judging) unpack(m *capture.Manifest) (*replay.Unpacked, error) {
	if u := j.unpacked[m.ID]; u != nil {
		return u, nil
	}
	u, err := replay.Unpack(j.captures, m, j.compiler.Folder())
	if err != nil && j.kept > 0 { // for want of room, perhaps
		for _, u := range j.unpacked {
			u.Close()
		}
		clear(j.unpacked)
		j.kept = 0
		u, err = replay.Unpack(j.captures, m, j.compiler.Folder())
	}
	if err == nil && j.o.Stays && j.kept+m.Bytes <= mostKept {
		j.unpacked[m.ID], j.kept = u, j.kept+m.Bytes
	}
	return u, err
}
