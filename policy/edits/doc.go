// Package edits reports which of a set of files have changed. inotify (by
// fsnotify, on folders, since editors rename) is a hint; content hashes decide. Where a folder
// can't be watched, by a limit or on a network's file system, its files are looked at by stat every
// few seconds.
//
// cmd/gnvcc makes a Watcher for gnvcc watch, policy/retune uses it.
//
// Files: edits.go the set and its batches, look.go one file's content, notify.go folders.
package edits
