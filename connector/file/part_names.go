package file

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/weir-stream/weir/connector"
)

// The endings of names of files that are not finished. A file goes from the first to one of the others when a barrier is
// prepared, and to its final name when it is committed.
const (
	// inProgress files are being written. What stands behind the length in a checkpoint does not count.
	inProgress = ".inprogress"
	// pending files wait for their checkpoint.
	pending = ".pending"
	// savepoint files wait for their checkpoint, and a savepoint lists them: only a commit removes them.
	savepoint = ".savepoint"
)

// owner is what the hidden names of a writer say of it: ".NAME.sink.run.subtask.attempt" and one of the endings.
type owner struct {
	sink    string // the same over all runs of the job
	run     string // of one submission of the job
	subtask int
	attempt string // of one deployment of the task
}

func ownerOf(ctx connector.WriterContext) owner {
	return owner{sink: digest(8, ctx.Job, ctx.Name), run: digest(8, ctx.JobID), subtask: ctx.Subtask, attempt: digest(10, ctx.Name, ctx.Attempt)}
}

// digest is a short name for parts that are too long for a file's name.
func digest(digits int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:digits]
}

// stem is a hidden name of the file that will be called final, without its ending.
func (o owner) stem(final string) string {
	return path.Join(path.Dir(final), fmt.Sprintf(".%s.%s.%s.%d.%s", path.Base(final), o.sink, o.run, o.subtask, o.attempt))
}

// parseHidden reads a hidden name; ok is false if it is none.
func parseHidden(name string) (stem string, o owner, ending string, ok bool) {
	for _, e := range []string{inProgress, pending, savepoint} {
		if s, found := strings.CutSuffix(name, e); found {
			stem, ending = s, e
		}
	}
	base := path.Base(stem)
	parts := strings.Split(base, ".")
	if ending == "" || len(parts) < 6 || parts[0] != "" {
		return "", o, "", false
	}
	parts = parts[len(parts)-4:]
	n, err := strconv.Atoi(parts[2])
	if err != nil || n < 0 || len(parts[0]) != 8 || len(parts[1]) != 8 || len(parts[3]) != 10 {
		return "", o, "", false
	}
	return stem, owner{sink: parts[0], run: parts[1], subtask: n, attempt: parts[3]}, ending, true
}

// findHidden returns the name that the file of a stem has at present, fs.ErrNotExist if it has none.
func findHidden(fsys connector.FileSystem, stem string) (connector.FileInfo, error) {
	// It may be renamed while it is looked for, by an attempt that does not know yet that it is over: in the order below.
	for range 2 {
		for _, ending := range []string{inProgress, pending, savepoint} {
			info, err := fsys.Stat(stem + ending)
			if !errors.Is(err, fs.ErrNotExist) {
				info.Path = stem + ending
				return info, err
			}
		}
	}
	return connector.FileInfo{}, &fs.PathError{Op: "find", Path: stem, Err: fs.ErrNotExist}
}

// partState describes a part, as a committable (from its first byte to its last) and as the state of a writer (Size bytes
// of it are durable, and more may follow). It is written as JSON.
type partState struct {
	// Version is 1.
	Version int `json:"v"`
	// Stem is the hidden name without its ending, Final the name once it is committed.
	Stem  string `json:"stem"`
	Final string `json:"final"`
	// Size and CRC (Castagnoli) are those of the bytes in the file, Rows counts the rows in them.
	Size int64  `json:"size"`
	CRC  uint32 `json:"crc"`
	Rows int64  `json:"rows"`
	// Replace says that the final name may be taken by an older file.
	Replace bool `json:"replace,omitempty"`
	// Old are stems of earlier attempts whose rows this file holds: they can go when it is committed.
	Old []string `json:"old,omitempty"`
	// Complete says that the only file of a sink is complete: there is nothing to go on with.
	Complete bool `json:"complete,omitempty"`
	// What follows is for writers that go on: the folder below the sink's, what the bytes are, and when (in ms) the part was
	// begun and last written to.
	Bucket string `json:"bucket,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Begun  int64  `json:"begun,omitempty"`
	Last   int64  `json:"last,omitempty"`
}

const partVersion = 1

func (p *partState) encode() []byte {
	p.Version = partVersion
	b, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("file: a part's state cannot be written: %v", err)) // it has strings and numbers only
	}
	return b
}

func decodePart(b []byte) (p partState, err error) {
	if err := json.Unmarshal(b, &p); err != nil {
		return p, fmt.Errorf("file: the description of a part in the checkpoint is damaged: %w (%.60q)", err, b)
	}
	if p.Version != partVersion || p.Stem == "" || p.Final == "" || p.Size < 0 {
		return p, fmt.Errorf("file: the description of a part in the checkpoint is of version %d or damaged (%.60q)", p.Version, b)
	}
	return p, nil
}

// text says which rows these are.
func (p *partState) text() string {
	return fmt.Sprintf("%d rows, %d bytes, %s", p.Rows, p.Size, p.Final)
}
