package tuner

import (
	"context"
	"os"
	"path/filepath"
	"regexp"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/profile/capture"
	"gnvcc/profile/replay"
)

// What a run needs of this machine: its GPU and driver, the store's captures and notes.

// A GPU does captured launches again. Tests simulate one.
type GPU interface {
	// Replay is replay.Run.
	Replay(ctx context.Context, o replay.Options, u *replay.Unpacked,
		v replay.Visit) (replay.Outcome, error)
	// Prepare is replay.Prepare: a process for the next one, nil for none.
	Prepare(ctx context.Context, o replay.Options, uuid string) *replay.Standby
}

// ThisGPU is what replays: this machine's GPU where no other is asked for.
func ThisGPU(asked GPU) GPU {
	if asked == nil {
		return realGPU{}
	}
	return asked
}

// realGPU has processes of the replayer do it.
type realGPU struct{}

func (realGPU) Replay(ctx context.Context, o replay.Options, u *replay.Unpacked,
	v replay.Visit) (replay.Outcome, error) {
	return replay.Run(ctx, o, u, v)
}

func (realGPU) Prepare(ctx context.Context, o replay.Options, uuid string) *replay.Standby {
	return replay.Prepare(ctx, o, uuid)
}

// DriverVersion is the NVIDIA driver's, "" where there is none.
func DriverVersion() string {
	text, err := os.ReadFile("/proc/driver/nvidia/version")
	if err != nil {
		return ""
	}
	m := regexp.MustCompile(`\b\d+\.\d+(\.\d+)?\b`).Find(text)
	return string(m)
}

// HasDriver reports whether anything of an NVIDIA driver is seen: one on Linux, one in a container,
// or Windows' under WSL.
func HasDriver() bool {
	for _, path := range []string{"/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg",
		"/dev/nvmap"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// Captures opens the captures in a store.
func Captures(store *cache.Store) (*capture.Store, error) {
	return capture.Open(filepath.Join(store.Path(), "captures"))
}

// Memos keeps policy's notes in the store: what was compiled and measured.
type Memos struct{ Store *cache.Store }

func (m Memos) Recall(key string) ([]byte, bool) {
	return m.Store.Memo(policy.Notebooks, cache.Hash([]byte(key)))
}

func (m Memos) Remember(key string, b []byte) error {
	return m.Store.PutMemo(policy.Notebooks, cache.Hash([]byte(key)), b)
}
