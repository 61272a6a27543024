package main

import (
	"path"
	"strconv"
	"strings"
)

// memoryLimit is what the process's control group allows it, of version 2 or 1; zero where nothing is said. Files are
// read by the function given.
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
		// Every group above limits as well. Within a container the path is that of the host, and the root is the group.
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			text, err := read(path.Join(root, group, file))
			limit, number := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			// Version 1 says "none" by a number near the largest.
			if err == nil && number == nil && limit > 0 && limit < 1<<60 && (least == 0 || limit < least) {
				least = limit
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}
