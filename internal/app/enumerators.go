package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobmanager"
	"github.com/weir-stream/weir/internal/rpc"
)

// enumerators finds the splits of all sources of a job.
type enumerators struct {
	byOp map[sourceKey]*enumerator
	list []jobmanager.Source
	log  *slog.Logger
}

type sourceKey struct {
	vertex ids.VertexID
	op     int32
}

// enumerator makes the connector's enumerator at the first request, so that its errors fail the job and not its start.
type enumerator struct {
	name string
	make func(restored []byte) (connector.Enumerator, error)
	// describe says where the next record of a split is. May be nil.
	describe func(connector.FileSystem, connector.Split) string
	inner    connector.Enumerator
	state    []byte // that it begins from
}

// newEnumerators returns the enumerators of the plan's sources. ctx ends with the job.
func newEnumerators(ctx context.Context, w World, job *graph.JobGraph) (*enumerators, error) {
	all := &enumerators{byOp: map[sourceKey]*enumerator{}, log: w.Log}
	for _, v := range job.Vertices {
		n := v.Head()
		d, err := sourceOf(n)
		if err != nil {
			return nil, err
		}
		if d == nil {
			continue
		}
		s := jobmanager.Source{Vertex: v.ID, Name: n.Label(), MaxDrift: d.Drift, Eager: d.Eager}
		if d.Drift > 0 {
			s.Group = "source " + n.Label()
		}
		all.list = append(all.list, s)
		all.byOp[sourceKey{v.ID, 0}] = &enumerator{name: n.Label(), describe: d.Describe, make: func(restored []byte) (connector.Enumerator, error) {
			return d.Enumerator(connector.EnumeratorContext{Ctx: ctx, Parallelism: v.Parallelism, FS: w.FS, Now: w.Clock.Now,
				Log: w.Log.With("operator", n.Label())}, restored)
		}}
	}
	return all, nil
}

// describing returns what says in words where the next record of a split is.
func (e *enumerators) describing(fs connector.FileSystem) func(vertex ids.VertexID, op int32, s rpc.Split) string {
	return func(vertex ids.VertexID, op int32, s rpc.Split) string {
		if en := e.byOp[sourceKey{vertex, op}]; en != nil && en.describe != nil {
			return en.describe(fs, connector.Split{ID: s.ID, State: s.State})
		}
		return ""
	}
}

// Next implements jobmanager.Enumerators.
func (e *enumerators) Next(_ context.Context, vertex ids.VertexID, op int32, subtask int) (rpc.Split, bool, bool, time.Duration, error) {
	en := e.byOp[sourceKey{vertex, op}]
	if en == nil {
		return rpc.Split{}, false, true, 0, nil
	}
	s, ok, done, wait, err := en.next(subtask)
	return rpc.Split{ID: s.ID, State: s.State}, ok, done, wait, err
}

func (e *enumerator) next(subtask int) (s connector.Split, ok, done bool, wait time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errs.New(errs.CodeUserPanic, errs.ClassFailJob, e.name, "the enumerator panicked: %v", p)
		}
	}()
	if err := e.begin(); err != nil {
		return s, false, false, 0, err
	}
	s, ok, done, wait, err = e.inner.Next(subtask)
	return s, ok, done, wait, e.failed(err)
}

func (e *enumerator) begin() (err error) {
	if e.inner != nil {
		return nil
	}
	if e.inner, err = e.make(e.state); err != nil {
		return e.failed(err)
	}
	if e.inner == nil {
		return errs.New(errs.CodeSource, errs.ClassFailJob, e.name, "the source has returned no enumerator and no error")
	}
	return nil
}

// Snapshot implements jobmanager.Enumerators.
func (e *enumerators) Snapshot(_ context.Context, vertex ids.VertexID, op int32) (state []byte, err error) {
	en := e.byOp[sourceKey{vertex, op}]
	if en == nil {
		return nil, errs.New(errs.CodeBug, errs.ClassBug, vertex.String(), "a source without an enumerator")
	}
	defer func() {
		if p := recover(); p != nil {
			err = errs.New(errs.CodeUserPanic, errs.ClassFailJob, en.name, "the enumerator panicked when its state was taken: %v", p)
		}
	}()
	if err := en.begin(); err != nil {
		return nil, err
	}
	state, err = en.inner.Snapshot()
	return state, en.failed(err)
}

// Reset implements jobmanager.Enumerators.
func (e *enumerators) Reset(_ context.Context, sources []jobmanager.Source, states []jobmanager.EnumeratorState) error {
	for _, src := range sources {
		en := e.byOp[sourceKey{src.Vertex, src.Op}]
		if en == nil {
			continue
		}
		if en.inner != nil {
			if err := en.close(); err != nil {
				e.log.Warn("the enumerator could not be closed", "source", en.name, "err", err)
			}
		}
		en.inner, en.state = nil, nil
		for _, s := range states {
			if s.Vertex == src.Vertex && s.Op == src.Op {
				en.state = s.State
			}
		}
	}
	return nil
}

func (e *enumerator) failed(err error) error {
	if err == nil || errs.CodeOf(err) != "" {
		return err
	}
	return errs.Wrap(err, errs.CodeSource, errs.ClassFailTask, e.name, "finding splits failed")
}

// close frees what the enumerators took. Nothing may call Next any more.
func (e *enumerators) close() {
	for _, en := range e.byOp {
		if en.inner != nil {
			if err := en.close(); err != nil {
				e.log.Warn("the enumerator could not be closed", "source", en.name, "err", err)
			}
		}
	}
}

func (e *enumerator) close() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return e.inner.Close()
}
