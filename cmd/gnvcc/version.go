package main

import (
	"runtime/debug"
	"strings"
)

// ownRelease is the version that the source is on its way to, or has: the Makefile and packages take it
// from here.
const ownRelease = "1.0.0"

// version is set by the linker (see the Makefile): the release, and the commit where that is not
// the release's own ("1.0.0+g0123456789ab"). Without it, as after go install, the build's own
// information says what there is. The linker sets no variable that has a value of its own.
var version string

// ownVersion is gnvcc's version.
func ownVersion() string {
	if version != "" {
		return version
	}
	return versionOf(debug.ReadBuildInfo())
}

func versionOf(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return ownRelease
	}
	if v := info.Main.Version; v != "" && v != "(devel)" && !strings.Contains(v, "-0.") {
		return strings.TrimPrefix(v, "v") // not one that Go makes of a commit's date
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = "+g" + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if commit == "" {
		return ownRelease
	}
	return ownRelease + commit + dirty
}
