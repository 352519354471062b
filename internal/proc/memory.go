package proc

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// memory returns the smallest limit of the process's control groups, or the machine's memory if there is none.
func memory(read func(string) ([]byte, error)) int64 {
	limit := int64(math.MaxInt64)
	for _, file := range limitFiles(read) {
		if text, err := read(file); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				limit = min(limit, n)
			}
		}
	}
	if text, err := read("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) == 3 && f[0] == "MemTotal:" {
				if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					limit = min(limit, kb<<10)
				}
			}
		}
	}
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}

// limitFiles lists where limits may be written: in the process's group and those above it (version 2), or in the one of its
// container (version 1), whose number for no limit is larger than any machine.
func limitFiles(read func(string) ([]byte, error)) []string {
	files := []string{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max"}
	text, err := read("/proc/self/cgroup")
	if err != nil {
		return files
	}
	for line := range strings.Lines(string(text)) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			for ; len(group) > 1; group = path.Dir(group) {
				files = append(files, path.Join("/sys/fs/cgroup", group, "memory.max"))
			}
		}
	}
	return files
}

func tune(memory int64, garbage int) {
	if _, set := os.LookupEnv("GOMEMLIMIT"); !set && memory > 0 {
		debug.SetMemoryLimit(memory)
	}
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(garbage)
	}
}
