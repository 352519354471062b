package proc

import (
	"errors"
	"testing"
)

func TestMemory(t *testing.T) {
	const machine = "MemTotal:        8000000 kB\nMemFree:         1000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known": {nil, 0},
		"the machine":      {map[string]string{"/proc/meminfo": machine}, 8000000 << 10},
		"no limit": {map[string]string{"/proc/meminfo": machine, "/sys/fs/cgroup/memory.max": "max\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8000000 << 10},
		"a container": {map[string]string{"/proc/meminfo": machine, "/sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30},
		"a group within a group": {map[string]string{"/proc/meminfo": machine, "/proc/self/cgroup": "0::/a/b\n",
			"/sys/fs/cgroup/a/memory.max": "500000\n", "/sys/fs/cgroup/a/b/memory.max": "max\n"}, 500000},
		"rubbish": {map[string]string{"/proc/meminfo": "MemTotal: x kB\n\n", "/proc/self/cgroup": "::\n7:cpu:/\n", "/sys/fs/cgroup/memory.max": "-5"}, 0},
	} {
		got := memory(func(file string) ([]byte, error) {
			if text, ok := c.files[file]; ok {
				return []byte(text), nil
			}
			return nil, errors.New("no such file")
		})
		if got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
