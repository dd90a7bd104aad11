package main

import (
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
)

// ownRelease is the version that the source has, or is on its way to: the Makefile takes it from
// here.
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

// ofCommit matches the versions that Go makes of a commit and its date.
var ofCommit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[-.][0-9]{14}-[0-9a-f]{12}(\+dirty)?$`)
})

func versionOf(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return ownRelease
	}
	if v := info.Main.Version; v != "" && v != "(devel)" && !ofCommit().MatchString(v) {
		return strings.TrimPrefix(v, "v")
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
