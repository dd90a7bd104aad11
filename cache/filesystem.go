package cache

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Which file systems are a network's.

// networkTypes: statfs' f_type (linux/magic.h, statfs(2); the last four from their own sources) of
// file systems whose flock may be local to one host, emulated, or absent.
var networkTypes = map[uint32]string{
	0x6969:     "nfs",
	0x517b:     "smb",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x564c:     "ncp",
	0x5346414f: "afs",
	0x6b414653: "kafs",
	0x73757245: "coda",
	0x00c36400: "ceph",
	0x01021997: "9p",
	0x01161970: "gfs2",
	0x7461636f: "ocfs2",
	0x786f4256: "vboxsf",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x19830326: "beegfs",
	0xaad7aaea: "panfs",
}

const fuseType = 0x65735546

// fuseLocal are the FUSE file systems that are known to sit on a local disk; containers without
// root often run on the first. Any other may be sshfs, s3fs, rclone, ...
var fuseLocal = map[string]bool{
	"fuse.fuse-overlayfs": true, "fuseblk": true, "fuse.gocryptfs": true, "fuse.encfs": true,
	"fuse.bindfs": true, "fuse.ntfs-3g": true,
}

// statfs is a variable for the tests, which can't mount a network's file system.
var statfs = syscall.Statfs

// NetworkFS names dir's file system if it is a network's, else "". When nothing can be learned it
// is taken as local: flock itself still says no where there is none.
func NetworkFS(dir string) string {
	var st syscall.Statfs_t
	if err := statfs(dir, &st); err != nil {
		return ""
	}
	return networkType(uint32(st.Type), func() string { return mountType(dir) })
}

func networkType(magic uint32, mount func() string) string {
	if magic == fuseType {
		if kind := mount(); !fuseLocal[kind] {
			if kind == "" {
				kind = "fuse"
			}
			return kind
		}
		return ""
	}
	return networkTypes[magic]
}

// mountType is the type of dir's mount as /proc/self/mountinfo has it ("fuse.sshfs"), "" if that
// can't be found. proc_pid_mountinfo(5): field 3 is major:minor, the type stands behind a lone "-".
func mountType(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	major, minor := device(uint64(st.Dev))
	want := fmt.Sprintf("%d:%d", major, minor)
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[2] != want {
			continue
		}
		for i, f := range fields {
			if f == "-" && i+1 < len(fields) {
				return fields[i+1]
			}
		}
	}
	return ""
}

// device takes a device number apart as the kernel puts it together for user space (makedev(3)).
func device(dev uint64) (major, minor uint64) {
	return (dev>>8)&0xfff | (dev>>32)&^0xfff, dev&0xff | (dev>>12)&^0xff
}
