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
		"v1.2.3": {Main: debug.Module{Version: "v1.2.3"}},
		"0123456789ab": {Main: debug.Module{Version: "(devel)"}, Settings: settings(revision,
			"false")},
		"0123456789ab-dirty": {Settings: settings(revision, "true")},
		"unknown":            {},
	} {
		if got := versionOf(&info, true); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := versionOf(nil, false); got != "unknown" {
		t.Errorf("without information: %q", got)
	}
}
