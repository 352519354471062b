package inspect

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weir-stream/weir/internal/storage"
)

// Directory is the directory of one job, or of the checkpoints of several.
type Directory struct {
	Path string `json:"path"`
	Jobs []Job  `json:"jobs"`
}

// Job is what a job has left.
type Job struct {
	Dir         string       `json:"dir"`
	Checkpoints []Checkpoint `json:"checkpoints"`
}

// Checkpoint is a line about one checkpoint.
type Checkpoint struct {
	Manifest string     `json:"manifest"`
	Epoch    uint64     `json:"epoch,omitempty"`
	Job      string     `json:"job,omitempty"`
	Created  *time.Time `json:"created,omitempty"`
	Objects  int        `json:"objects"`
	Bytes    int64      `json:"bytes"`
	Problem  string     `json:"problem,omitempty"`
}

// List describes the checkpoints in a directory in which Resolve finds several jobs' or one's.
func List(ctx context.Context, places storage.Places, dir string) (*Directory, error) {
	found, err := storage.Find(ctx, places, dir)
	if err != nil {
		return nil, err
	}
	out := &Directory{Path: dir}
	for _, ref := range found {
		c := Checkpoint{Manifest: ref.Manifest, Epoch: uint64(storage.EpochOf(ref))}
		s, err := storage.Load(ctx, nil, places, ref)
		if err != nil {
			c.Problem = err.Error()
		} else {
			c.Epoch, c.Job, c.Objects = uint64(s.Epoch), s.JobName, len(s.Objects) // a savepoint's name does not tell the epoch
			if s.Created > 0 {
				at := time.UnixMilli(s.Created).UTC()
				c.Created = &at
			}
			for i := range s.Objects {
				c.Bytes += s.Objects[i].Size
			}
			if err := s.Check(ctx); err != nil {
				c.Problem = err.Error()
			}
		}
		dir, _, _ := strings.Cut(ref.Manifest, "manifests/")
		if n := len(out.Jobs); n == 0 || out.Jobs[n-1].Dir != dir {
			out.Jobs = append(out.Jobs, Job{Dir: dir})
		}
		j := &out.Jobs[len(out.Jobs)-1]
		j.Checkpoints = append(j.Checkpoints, c)
	}
	return out, nil
}

const briefMost = 120

// brief cuts a message that is too long for a line of a table.
func brief(s string) string {
	if r := []rune(s); len(r) > briefMost {
		return string(r[:briefMost]) + "..."
	}
	return s
}

// Text writes the description for people.
func (d *Directory) Text(w io.Writer) error {
	b := &strings.Builder{}
	for i, j := range d.Jobs {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "%s/%s\n", strings.TrimRight(d.Path, "/"), strings.TrimSuffix(j.Dir, "/"))
		t := table(b)
		t.row("  CHECKPOINT", "JOB", "WRITTEN", "OBJECTS", "SIZE", "")
		for _, c := range j.Checkpoints {
			written := ""
			if c.Created != nil {
				written = c.Created.Format("2006-01-02 15:04:05 UTC")
			}
			problem := ""
			if c.Problem != "" {
				problem = "PROBLEM: " + brief(c.Problem)
			}
			t.row(fmt.Sprint("  ", c.Epoch), c.Job, written, fmt.Sprint(c.Objects), size(c.Bytes), problem)
		}
		t.end()
	}
	return write(w, b)
}
