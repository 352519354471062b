package file

import (
	"encoding/json/v2"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-stream/weir/connector"
)

// splitState is what Split.State holds, as JSON.
type splitState struct {
	Version int    `json:"v"`
	Path    string `json:"path"`
	// Size is the file's size when it was found.
	Size int64 `json:"size"`
	// Start and End bound the range of bytes in which the split's records begin. Start is 0 and End is Size for a file that
	// is not cut.
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	// Pos is the offset of the next record once reading has begun, and -1 before that. In compressed files it counts
	// uncompressed bytes.
	Pos int64 `json:"pos"`
}

const splitVersion = 1

// id is stable: it depends on what is read, not on how far.
func (s *splitState) id() string {
	if s.Start == 0 && s.End == s.Size {
		return s.Path
	}
	return s.Path + "#" + strconv.FormatInt(s.Start, 10) + "-" + strconv.FormatInt(s.End, 10)
}

func (s *splitState) split() (connector.Split, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return connector.Split{}, fmt.Errorf("file: split of %s: %w", s.Path, err)
	}
	return connector.Split{ID: s.id(), State: b}, nil
}

func parseSplit(c connector.Split) (*splitState, error) {
	s := new(splitState)
	if err := json.Unmarshal(c.State, s); err != nil {
		return nil, fmt.Errorf("file: split %q: its state is damaged: %w", c.ID, err)
	}
	if s.Version != splitVersion || s.Path == "" || s.Start < 0 || s.End < s.Start || s.Size < s.End {
		return nil, fmt.Errorf("file: split %q: its state is damaged or of another version: %s", c.ID, c.State)
	}
	return s, nil
}

type compression uint8

const (
	plain compression = iota
	gzipped
	zstandard
)

// compressionOf goes by the file's extension.
func compressionOf(path string) compression {
	p := strings.ToLower(path)
	switch {
	case strings.HasSuffix(p, ".gz"), strings.HasSuffix(p, ".gzip"):
		return gzipped
	case strings.HasSuffix(p, ".zst"), strings.HasSuffix(p, ".zstd"):
		return zstandard
	}
	return plain
}

// cut makes the splits of one file. An empty file is a split too, so that a reader can complain if the format wants a header.
func cut(info connector.FileInfo, splittable bool, bytes int64) []splitState {
	whole := splitState{Version: splitVersion, Path: info.Path, Size: info.Size, End: info.Size, Pos: -1}
	if !splittable || compressionOf(info.Path) != plain || info.Size <= bytes {
		return []splitState{whole}
	}
	var out []splitState
	for at := int64(0); at < info.Size; at += bytes {
		s := whole
		s.Start, s.End = at, min(at+bytes, info.Size)
		out = append(out, s)
	}
	return out
}
