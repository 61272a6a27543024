// Reads the memory limit of the process's cgroup, which becomes Go's own memory limit: the garbage
// collector then works harder before the kernel kills the process.

package main

import (
	"path"
	"strconv"
	"strings"
)

// memoryLimit returns the memory limit of the process's cgroup, version 2 or 1, or zero. read reads
// a file.
func memoryLimit(read func(name string) ([]byte, error)) int64 {
	groups, err := read("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := int64(0)
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		switch {
		case parts[0] == "0" && parts[1] == "":
		case parts[1] == "memory":
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// Every parent group limits as well. Inside a container the path is that of the host, and
		// the root is the group itself.
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			text, err := read(path.Join(root, group, file))
			limit, number := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			// Version 1 writes "no limit" as a number near the maximum.
			if err == nil && number == nil && limit > 0 && limit < 1<<60 &&
				(least == 0 || limit < least) {
				least = limit
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}
