package storage

import (
	"bytes"
	"math"
	"slices"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/planted"
	"github.com/weir-stream/weir/internal/snapshot"
)

// Draft is what a manifest is made of: what the master knows, and the parts that the tasks have sent.
type Draft struct {
	Epoch ids.Epoch
	// Purpose: a savepoint is written at Target only, a stop there first and then with the job, all else with the job.
	Purpose event.Purpose
	// Target is the savepoint's directory, as SavepointDir has named it.
	Target string
	// Plan is the fingerprint of the plan that runs.
	Plan string
	// Operators are all of the plan that may have state, also those whose subtasks have all finished.
	Operators []Operator
	// Parts are those of the tasks that took part, Finished the tasks that were gone before.
	Parts    []TaskPart
	Finished []ids.TaskID
	// Blobs are the master's own: the states of enumerators, with Subtask -1.
	Blobs []OperatorBlob
}

// Operator is an operator of the plan. Its name finds its state again.
type Operator struct {
	Name        string
	Vertex      ids.VertexID
	Parallelism int
}

// TaskPart is a task's encoded Part.
type TaskPart struct {
	Task ids.TaskID
	Part []byte
}

// OperatorBlob is a blob of an operator.
type OperatorBlob struct {
	Operator string
	Blob     snapshot.Blob
}

// manifest puts the parts together.
func (j *Job) manifest(d *Draft) (*snapshot.Manifest, error) {
	m := &snapshot.Manifest{Job: j.cfg.ID, JobName: j.cfg.Name, Epoch: d.Epoch, Term: j.term, Purpose: snapshot.PurposeCheckpoint,
		Plan: d.Plan, KeyGroups: keygroup.Count, Created: max(j.cfg.Clock.Now().UnixMilli(), 0), Operators: []snapshot.Operator{}, Objects: []snapshot.Object{}}
	if d.Target != "" {
		m.Purpose = snapshot.PurposeSavepoint
	}
	place := map[string]int{}
	for _, op := range d.Operators {
		place[op.Name] = len(m.Operators)
		o := snapshot.Operator{Name: op.Name, Parallelism: op.Parallelism, Watermarks: slices.Repeat([]int64{math.MaxInt64}, op.Parallelism)}
		for _, f := range d.Finished {
			if f.Vertex == op.Vertex {
				o.Finished = append(o.Finished, int(f.Subtask))
			}
		}
		slices.Sort(o.Finished)
		m.Operators = append(m.Operators, o)
	}
	parts := slices.Clone(d.Parts)
	slices.SortFunc(parts, func(a, b TaskPart) int { // so that a manifest written again has the same bytes
		if a.Task.Vertex != b.Task.Vertex {
			return int(a.Task.Vertex - b.Task.Vertex)
		}
		return int(a.Task.Subtask - b.Task.Subtask)
	})
	for _, tp := range parts {
		part, err := DecodePart(tp.Part)
		if err != nil {
			return nil, err
		}
		for i := range part.Ops {
			at, ok := place[part.Ops[i].Name]
			if !ok {
				return nil, errs.New(errs.CodeBug, errs.ClassBug, "checkpoint", "task %v sent state of operator %q, which the plan lacks", tp.Task, part.Ops[i].Name)
			}
			if err := addPart(m, at, int(tp.Task.Subtask), &part.Ops[i]); err != nil {
				return nil, err
			}
		}
	}
	for _, b := range d.Blobs {
		at, ok := place[b.Operator]
		if !ok {
			return nil, errs.New(errs.CodeBug, errs.ClassBug, "checkpoint", "a blob of operator %q, which the plan lacks", b.Operator)
		}
		if o := &m.Operators[at]; len(o.Finished) == o.Parallelism && planted.Is(planted.EnumeratorForgotten) {
			continue
		}
		m.Operators[at].Blobs = append(m.Operators[at].Blobs, b.Blob)
	}
	return m, nil
}

// addPart adds what a subtask has sent to an operator of the manifest.
func addPart(m *snapshot.Manifest, at, subtask int, p *OpPart) error {
	o := &m.Operators[at]
	bad := func(format string, args ...any) error {
		return errs.New(errs.CodeBug, errs.ClassBug, "operator "+o.Name, "its subtasks disagree: "+format, args...)
	}
	if subtask < 0 || subtask >= o.Parallelism {
		return bad("subtask %d of %d", subtask, o.Parallelism)
	}
	if p.KeyWidth != 0 || len(p.States) > 0 {
		if len(o.States) > 0 && (o.KeyWidth != p.KeyWidth || !bytes.Equal(o.KeySchema, p.KeySchema)) {
			return bad("keys of %d and of %d bytes, or of another schema", o.KeyWidth, p.KeyWidth)
		}
		o.KeyWidth, o.KeySchema = p.KeyWidth, p.KeySchema
	}
	o.Watermarks[subtask] = p.Watermark
	o.Positions = append(o.Positions, p.Positions...)
	o.Blobs = append(o.Blobs, p.Blobs...)
	// Each task numbers its states as it meets them. In the manifest they have one number each.
	number := map[uint32]uint32{}
	same := true
	var most uint32
	for _, s := range p.States {
		i := slices.IndexFunc(o.States, func(have snapshot.State) bool { return have.Name == s.Name })
		own := s.ID
		if i < 0 {
			i = len(o.States)
			s.ID = uint32(i + 1)
			o.States = append(o.States, s)
		} else if have := o.States[i]; have.Kind != s.Kind || have.Width != s.Width || have.NamespaceWidth != s.NamespaceWidth || !bytes.Equal(have.Schema, s.Schema) {
			return bad("state %q has two schemas or kinds", s.Name)
		}
		number[own] = o.States[i].ID
		same = same && own == o.States[i].ID
		most = max(most, own)
	}
	var states []uint32
	for id := uint32(1); !same && id <= most; id++ {
		n, ok := number[id]
		if !ok {
			return bad("a task numbers its states with gaps")
		}
		states = append(states, n)
	}
	for _, obj := range p.Objects {
		obj.Operator, obj.Subtask = o.Name, subtask
		if obj.Kind == snapshot.ObjectEntries || obj.Kind == snapshot.ObjectDelta {
			obj.States = states
		}
		m.Objects = append(m.Objects, obj)
	}
	return nil
}
