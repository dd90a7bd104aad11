package main

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	settings := func(revision, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: revision},
			{Key: "vcs.modified", Value: modified}}
	}
	const revision = "0123456789abcdef0123456789abcdef01234567"
	for want, info := range map[string]debug.BuildInfo{
		"1.2.3": {Main: debug.Module{Version: "v1.2.3"}},
		// what Go makes of a commit and its date
		ownRelease + "+gabcdef012345": {Main: debug.Module{Version: "v0.0.0-20261123124432-abcdef012345"},
			Settings: settings("abcdef012345abcdef01", "false")},
		ownRelease + "+g0123456789ab": {Main: debug.Module{Version: "(devel)"}, Settings: settings(revision,
			"false")},
		ownRelease + "+g0123456789ab.dirty": {Settings: settings(revision, "true")},
		ownRelease:                          {},
	} {
		if got := versionOf(&info, true); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := versionOf(nil, false); got != ownRelease {
		t.Errorf("without information: %q", got)
	}
}
