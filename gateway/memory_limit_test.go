// Memory limits of cgroup versions 1 and 2, from files in memory.

package main

import (
	"errors"
	"testing"
)

func TestMemoryLimitIsThatOfTheCgroup(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing", nil, 0},
		{"version 2", map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "1000\n"}, 1000},
		{"no limit", map[string]string{"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": "max\n"}, 0},
		{"a group above", map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "500\n"}, 500},
		{"in a container", map[string]string{"/proc/self/cgroup": "0::/../../x\n", "/sys/fs/cgroup/memory.max": "700\n"}, 700},
		{"version 1", map[string]string{"/proc/self/cgroup": "5:cpu:/c\n4:memory:/a\n", "/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "900\n"}, 900},
		{"version 1 without", map[string]string{"/proc/self/cgroup": "4:memory:/\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		{"nonsense", map[string]string{"/proc/self/cgroup": "x\n4:memory\n0::\n"}, 0},
	} {
		got := memoryLimit(func(name string) ([]byte, error) {
			text, ok := c.files[name]
			if !ok {
				return nil, errors.New("no such file")
			}
			return []byte(text), nil
		})
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
