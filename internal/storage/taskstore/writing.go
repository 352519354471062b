package taskstore

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/planted"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/internal/task"
)

const (
	// blobInline is what a blob may have to lie in the manifest itself.
	blobInline = 4 << 10
	// smallObject is written from memory, without another goroutine.
	smallObject = 1 << 20
)

// writing is the upload of one snapshot.
type writing struct {
	t     *Task
	ctx   context.Context
	up    *upload
	place place
	s     *task.Snapshot
	n     int // objects so far
	out   storage.Stored
}

// all writes everything and returns the task's part.
func (w *writing) all() (storage.Stored, error) {
	var part storage.Part
	w.up.chains = make([]link, len(w.s.Ops))
	for i := range w.s.Ops {
		op, err := w.op(i)
		if err != nil {
			return w.out, err
		}
		part.Ops = append(part.Ops, op)
	}
	if err := w.rows(&part); err != nil {
		return w.out, err
	}
	var err error
	w.out.Part, err = part.Encode()
	return w.out, err
}

// name returns the name of the next object, relative to the place.
func (w *writing) name() string {
	n := storage.DataName{Term: w.t.u.cfg.Term, Generation: w.t.u.cfg.Generation, Vertex: w.t.id.Vertex, Subtask: w.t.id.Subtask,
		Epoch: ids.Epoch(w.s.Barrier.Epoch), N: w.n}
	w.n++
	return n.String()
}

func (w *writing) op(i int) (storage.OpPart, error) {
	op := &w.s.Ops[i]
	if i >= len(w.t.ops) {
		return storage.OpPart{}, errs.New(errs.CodeBug, errs.ClassBug, "checkpoint", "a snapshot of %d operators of a task with %d", len(w.s.Ops), len(w.t.ops))
	}
	out := storage.OpPart{Name: w.t.ops[i], KeyWidth: op.KeyWidth, KeySchema: op.KeySchema, Watermark: op.Watermark, Positions: op.Positions}
	if err := w.blobs(op.Blobs, &out); err != nil {
		return out, err
	}
	if len(op.Parts) == 0 {
		return out, nil
	}
	parts := slices.Clone(op.Parts)
	for j := range parts {
		parts[j].State.ID = w.t.number(i, parts[j].State.Name)
		out.States = append(out.States, parts[j].State)
	}
	objects, err := w.keyed(i, parts)
	out.Objects = append(out.Objects, objects...)
	for _, o := range objects {
		w.out.Size += o.Size
	}
	return out, err
}

// keyed writes keyed state, or lists again what earlier epochs have written.
func (w *writing) keyed(i int, parts []statebackend.Part) ([]snapshot.Object, error) {
	plan := w.t.plan(i, parts, w.place.full)
	objects := slices.Clone(plan.base)
	if !plan.nothing {
		fresh, err := w.written(parts, &plan)
		if err != nil {
			return nil, err
		}
		objects = append(objects, fresh...)
	}
	if !w.place.full {
		w.up.chains[i] = link{objects: objects, marks: plan.marks, states: len(parts), deltas: plan.deltas, cuts: plan.cuts, written: true}
	}
	return objects, nil
}

// blobs puts small blobs into the part and large ones into an object.
func (w *writing) blobs(blobs []snapshot.Blob, out *storage.OpPart) error {
	var large []byte
	for _, b := range blobs {
		if len(b.Data) > blobInline {
			b.Offset, b.Length, b.Object = int64(len(large)), int64(len(b.Data)), "?"
			large = append(large, b.Data...)
			b.Data = nil
		}
		out.Blobs = append(out.Blobs, b)
	}
	if large == nil {
		return nil
	}
	name, err := w.object(func(to io.Writer) error { _, err := to.Write(large); return err })
	if err != nil {
		return err
	}
	for i := range out.Blobs {
		if out.Blobs[i].Object != "" {
			out.Blobs[i].Object = name
		}
	}
	size := int64(len(large))
	out.Objects = append(out.Objects, snapshot.Object{Name: name, Kind: snapshot.ObjectBlobs, Size: size, CRC: objstore.Checksum(large), RawBytes: size})
	w.out.Size += size
	return nil
}

// rows writes the rows in flight: those of the chain's head.
func (w *writing) rows(part *storage.Part) error {
	any := false
	for _, in := range w.s.Inflight {
		any = any || len(in.Batches) > 0
	}
	if !any {
		return nil
	}
	var sum snapshot.Summary
	name, err := w.object(func(to io.Writer) (err error) {
		out := snapshot.NewRowsWriter(to)
		for _, in := range w.s.Inflight {
			for _, b := range in.Batches {
				if err := out.Add(in.Gate, in.Channel, b); err != nil {
					return err
				}
			}
		}
		sum, err = out.Close()
		return err
	})
	if err != nil {
		return err
	}
	part.Ops[0].Objects = append(part.Ops[0].Objects, snapshot.Object{Name: name, Kind: snapshot.ObjectRows, Size: sum.Size, CRC: sum.CRC,
		Entries: sum.Entries, RawBytes: sum.RawBytes})
	w.out.Size += sum.Size
	w.out.InFlight += sum.RawBytes
	return nil
}

// object writes one object with what fill writes, which is called again for each try, and returns its name.
func (w *writing) object(fill func(io.Writer) error) (string, error) {
	name := w.name()
	return name, w.store(w.place.prefix+name, func(full string) error {
		n, err := w.try(full, fill)
		w.out.Written += n
		return err
	})
}

// store has an object written, again if the store is not there for a moment.
func (w *writing) store(full string, try func(full string) error) error {
	w.up.written = append(w.up.written, full) // also if the answer is lost
	return w.retry(full, try)
}

func (w *writing) retry(full string, try func(full string) error) error {
	for wait, n := retryFirst, 1; ; wait, n = 2*wait, n+1 {
		err := try(full)
		if err == nil || planted.Is(planted.ManifestBeforeData) {
			return nil
		}
		if errs.ClassOf(err) != errs.ClassRetry || n == triesMost || w.ctx.Err() != nil {
			return errs.Wrap(err, "", 0, "checkpoint", "writing the object %s", full)
		}
		if err := w.t.u.cfg.Clock.Sleep(w.ctx, wait); err != nil {
			return err
		}
	}
}

// try writes an object once, and returns its size: what is small from memory, what is larger while it is made.
func (w *writing) try(name string, fill func(io.Writer) error) (int64, error) {
	out := &spill{begin: func(r io.Reader) (objstore.Written, error) {
		return w.place.store.Put(w.ctx, name, objstore.Content{Reader: r, Size: -1})
	}}
	if err := fill(out); err != nil {
		return 0, out.fail(err)
	}
	if out.begun() {
		got, err := out.finish()
		return got.Size, err
	}
	got, err := w.place.store.Put(w.ctx, name, objstore.Bytes(out.small))
	return got.Size, err
}

// spill is an io.Writer that keeps what is small, and hands what is larger to a reader on another goroutine.
type spill struct {
	begin func(io.Reader) (objstore.Written, error)
	small []byte
	pipe  *io.PipeWriter
	done  chan struct{}
	got   objstore.Written
	err   error
}

func (s *spill) begun() bool { return s.pipe != nil }

// Write implements io.Writer.
func (s *spill) Write(p []byte) (int, error) {
	if s.pipe == nil {
		if len(s.small)+len(p) <= smallObject {
			s.small = append(s.small, p...)
			return len(p), nil
		}
		r, w := io.Pipe()
		s.pipe, s.done = w, make(chan struct{})
		go func() { // ends when the pipe is closed by finish or fail, or the store fails
			defer close(s.done)
			s.got, s.err = s.begin(io.MultiReader(bytes.NewReader(s.small), r))
			r.CloseWithError(s.err)
		}()
	}
	return s.pipe.Write(p)
}

// finish waits for the store.
func (s *spill) finish() (objstore.Written, error) {
	s.pipe.Close()
	<-s.done
	return s.got, s.err
}

// fail lets the store give up, and returns its error if that came first.
func (s *spill) fail(err error) error {
	if s.pipe == nil {
		return err
	}
	s.pipe.CloseWithError(err)
	<-s.done
	if s.err != nil {
		return s.err
	}
	return err
}
