// Package cache is the store: what gnvcc saw, what it decided, and the files that go with both.
// Builds read it and drop observations into it, the tuner decides in it, and gnvcc doctor looks at
// it. It imports no other package of this module; driver, policy and cmd may call it.
//
// # What lies where
//
//	owner.lock               flock decides who the owner is; the file's text (process, time) is for people
//	decisions.snapshot       all records, sorted, in one flat file, replaced by rename; what builds read
//	records.db               the owner's bbolt database, with the same records; records.db.seal has its hash
//	decisions.snapshot.broken-* a damaged one, kept for inspection
//	recipes                  what of it builds depend on, as text; for compiler caches in front of gnvcc
//	spool/<sha256>.json      one observation that no owner has merged yet
//	objects/ab/<sha256>      files by their content: preprocessed code, PTX, relocatable cubins, commands
//	memo/<kind>/ab/<key>     small results that the next build step reads at once
//	remotes/<name>/          what gnvcc pull brought (cache/remote): snapshots of others
//	hung/<hash>              a store of others whose file system did not answer: left alone for a minute
//	trimmed                  its time of modification says when objects and memos were last trimmed
//
// Folders have mode 0700, files 0600.
//
// # What the store promises
//
//   - A build never waits. Reading takes no lock at all; spooling, objects and memos are a
//     temporary file and a rename. Whatever is wrong with the snapshot is an error that the build
//     may ignore: no recipe.
//   - A damaged or hostile file costs an error, never a crash, a wait or a wrong record. Pipes,
//     devices, links and files that claim to be larger than ours ever are, are not read, and links
//     are not written through. The snapshot is read by bounds-checked preads (flat.go), each record
//     carries a checksum over its bucket, key and content, and objects and spool files are named by
//     their hash, which is compared when they are read.
//   - What Owner.Publish returned for without an error is on the disk, visible to builds, all or
//     nothing, and no later crash of any process takes it away.
//   - What Spool returned for without an error is in the snapshot after the next Merge and Publish,
//     once, however often owner and spoolers are killed. Merging twice is merging once.
//   - A write that fails (full disk, read-only folder, limit on file size) says what to do, and
//     nothing that was there before is lost.
//   - A damaged snapshot is made anew from the database, and a damaged database from the snapshot; of
//     two damaged ones the owner takes the snapshot's sound records. The spool is emptied after Publish
//     only, so that nothing that waits there is missing.
//
// # What it does not promise
//
//   - After a loss of power (not of a process) spooled observations other than decisions, objects
//     and memos of the last seconds may be gone: they are not synced, since a build would wait for
//     the disk. They are never read torn.
//   - A record may name an object that was trimmed since. Whoever follows such a name must do
//     without.
//   - Two spooled records for one key: the one that was spooled later wins by the clock. When the
//     clock went back between the two, a stamp in the future loses against any other; a stamp that
//     is merely a little too high may win.
//   - ObjectPath hands out a path without looking at the content; only Object compares the hash.
//   - The disk's own failures in silence (a lost write that the disk confirmed) are found when
//     read, not prevented.
//   - The store is one machine's. On network file systems there is no owner (locks and renames
//     there do not hold what this package builds on); builds still read a snapshot that lies there.
//   - It keeps secrets from other users by file modes only, and trusts every process of its own
//     user.
//
// Reading the source: store.go, errors.go, file.go, filesystem.go (a folder that is ours);
// record.go, decision.go, gain.go (what is kept); spool.go, owner.go, database.go (on its way to the snapshot);
// flat.go, snapshot.go, recipes.go (what builds read);
// object.go, compress.go, memo.go, key.go; folders.go, remotes.go, hung.go (stores of others);
// trim.go, clean.go, stats.go, verify.go.
package cache
