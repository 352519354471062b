package inspect

import (
	"context"
	"io"
	"strings"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/storage"
)

// Result is what a path names: a checkpoint or savepoint, the directory of a job with its newest checkpoint, or a directory of
// several jobs.
type Result struct {
	Directory *Directory `json:"directory,omitempty"`
	Snapshot  *Snapshot  `json:"snapshot,omitempty"`
}

// Path describes what is at a path. With full all keyed state is read, however much it is.
func Path(ctx context.Context, places storage.Places, path string, full bool) (*Result, error) {
	path = strings.TrimRight(path, "/")
	ref, err := storage.Resolve(ctx, places, path)
	several := errs.CodeOf(err) == storage.CodeSeveral
	if err != nil && !several {
		return nil, err
	}
	r := &Result{}
	if several || ref.Dir == path && !storage.IsSavepoint(ref) {
		if r.Directory, err = List(ctx, places, path); err != nil || several {
			return r, err
		}
	}
	r.Snapshot, err = Describe(ctx, places, ref, full)
	return r, err
}

// Text writes the result for people.
func (r *Result) Text(w io.Writer) error {
	if r.Directory != nil {
		if err := r.Directory.Text(w); err != nil {
			return err
		}
	}
	if r.Directory != nil && r.Snapshot != nil {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	if r.Snapshot != nil {
		return r.Snapshot.Text(w)
	}
	return nil
}
