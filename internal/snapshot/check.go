package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
)

// check returns an error unless the manifest is one that a restore can work with.
func (m *Manifest) check() error {
	switch {
	case m.Job.IsZero():
		return corrupt("the manifest names no job")
	case m.Purpose != PurposeCheckpoint && m.Purpose != PurposeSavepoint:
		return corrupt("the manifest has the unknown purpose %q", m.Purpose)
	case m.KeyGroups != keygroup.Count:
		return errs.New(errs.CodeSchema, errs.ClassUser, "snapshot", "the state is cut into %d key groups, and this program cuts it into %d: keys would be looked for in other groups than they are in; restore it with the program that wrote it",
			m.KeyGroups, keygroup.Count)
	case !utf8.ValidString(m.Plan) || !utf8.ValidString(m.JobName) || !utf8.ValidString(m.Place):
		return corrupt("the plan's fingerprint, the job's name or the place is not UTF-8")
	case m.Created < 0:
		return corrupt("the manifest was written before 1970")
	}
	operators := map[string]*Operator{}
	for i := range m.Operators {
		o := &m.Operators[i]
		if err := o.check(); err != nil {
			return err
		}
		if operators[o.Name] != nil {
			return corrupt("two operators are called %q", o.Name)
		}
		operators[o.Name] = o
	}
	objects := map[string]*Object{}
	for i := range m.Objects {
		o := &m.Objects[i]
		if !goodName(o.Name) || objects[o.Name] != nil {
			return corrupt("the object %q is listed twice or badly named", o.Name)
		}
		of := operators[o.Operator]
		if of == nil {
			return corrupt("the object %q is of the operator %q, which is not listed", o.Name, o.Operator)
		}
		if err := o.check(of); err != nil {
			return err
		}
		objects[o.Name] = o
	}
	for i := range m.Operators {
		if err := m.Operators[i].checkBlobs(objects); err != nil {
			return err
		}
	}
	return nil
}

func (o *Object) check(of *Operator) error {
	if o.Size < 0 || o.Entries < 0 || o.RawBytes < 0 || o.From > o.To || o.To > keygroup.Count || o.Subtask < 0 || o.Subtask >= keygroup.Count {
		return corrupt("the object %q has impossible figures", o.Name)
	}
	switch o.Kind {
	case ObjectEntries, ObjectDelta:
	case ObjectRows, ObjectBlobs:
		if o.States != nil || o.Subtask >= of.Parallelism {
			return corrupt("the object %q has states, or is of subtask %d of %d", o.Name, o.Subtask, of.Parallelism)
		}
	default:
		return corrupt("the object %q has the unknown kind %q", o.Name, o.Kind)
	}
	if o.States != nil && len(o.States) == 0 {
		return corrupt("the object %q lists no state", o.Name)
	}
	for _, id := range o.States {
		if !slices.ContainsFunc(of.States, func(s State) bool { return s.ID == id }) {
			return corrupt("the object %q has the state %d, which the operator does not", o.Name, id)
		}
	}
	return nil
}

// checkBlobs looks at what lies in objects.
func (o *Operator) checkBlobs(objects map[string]*Object) error {
	for i := range o.Blobs {
		b := &o.Blobs[i]
		if b.Object == "" {
			if b.Offset != 0 || b.Length != 0 {
				return corrupt("operator %q: blob %q has a place in no object", o.Name, b.Name)
			}
			continue
		}
		in := objects[b.Object]
		if in == nil || in.Kind != ObjectBlobs || in.Operator != o.Name || b.Data != nil ||
			b.Offset < 0 || b.Length < 0 || b.Offset > in.Size-b.Length {
			return corrupt("operator %q: blob %q is not in the object %q", o.Name, b.Name, b.Object)
		}
	}
	return nil
}

func (o *Operator) check() error {
	bad := func(format string, args ...any) error {
		return corrupt("operator %q: %s", o.Name, fmt.Sprintf(format, args...))
	}
	if o.Name == "" || !utf8.ValidString(o.Name) || o.Parallelism < 1 || o.Parallelism > keygroup.Count || o.KeyWidth < 0 {
		return bad("no name, or parallelism %d or key width %d", o.Parallelism, o.KeyWidth)
	}
	if n := len(o.Watermarks); n != 0 && n != o.Parallelism {
		return bad("%d watermarks for %d subtasks", n, o.Parallelism)
	}
	for i, s := range o.Finished {
		if s < 0 || s >= o.Parallelism || i > 0 && s <= o.Finished[i-1] {
			return bad("finished subtasks %d", s)
		}
	}
	states, numbers := map[string]bool{}, map[uint32]bool{}
	for i := range o.States {
		s := &o.States[i]
		switch s.Kind {
		case KindValue, KindList, KindMap, KindEventTimers, KindProcessingTimer:
		default:
			return bad("state %q has the unknown kind %q", s.Name, s.Kind)
		}
		if s.Name == "" || !utf8.ValidString(s.Name) || states[s.Name] || numbers[s.ID] || s.Width < 0 || s.NamespaceWidth < -1 {
			return bad("state %q (%d) is listed twice or impossible", s.Name, s.ID)
		}
		states[s.Name], numbers[s.ID] = true, true
	}
	splits := map[string]bool{}
	for i := range o.Positions {
		p := &o.Positions[i]
		if !utf8.ValidString(p.Split) || splits[p.Split] || p.Subtask < 0 || p.Subtask >= o.Parallelism {
			return bad("split %q is listed twice or of subtask %d", p.Split, p.Subtask)
		}
		splits[p.Split] = true
	}
	for i := range o.Blobs {
		b := &o.Blobs[i]
		if !utf8.ValidString(b.Name) || b.Subtask < -1 || b.Subtask >= o.Parallelism {
			return bad("blob %q of subtask %d is impossible", b.Name, b.Subtask)
		}
	}
	return nil
}

// goodName keeps names inside the place that the manifest is for.
func goodName(name string) bool {
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '\\' }) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// problemsMax bounds what Verify tells one by one.
const problemsMax = 10

// Verify returns an error unless every object of the manifest is there with its size. size asks the store about one
// object; an error of class Retry from it ends the check, any other one counts as an object that is not there. Nothing of
// a job may start before Verify has returned nil.
func (m *Manifest) Verify(size func(name string) (int64, error)) error {
	var problems []error
	more := 0
	note := func(err error) {
		if len(problems) < problemsMax {
			problems = append(problems, err)
		} else {
			more++
		}
	}
	for i := range m.Objects {
		o := &m.Objects[i]
		n, err := size(o.Name)
		switch {
		case err != nil && (errs.ClassOf(err) == errs.ClassRetry || errs.IsCanceled(err)):
			return errs.Wrap(err, "", 0, "snapshot", "asking for the object %s of operator %q", o.Name, o.Operator)
		case err != nil:
			note(fmt.Errorf("object %s of operator %q: %w", o.Name, o.Operator, err))
		case n != o.Size:
			note(fmt.Errorf("object %s of operator %q has %d bytes, not %d", o.Name, o.Operator, n, o.Size))
		}
	}
	if problems == nil {
		return nil
	}
	if more > 0 {
		problems = append(problems, fmt.Errorf("and %d more", more))
	}
	return errs.Wrap(errors.Join(problems...), errs.CodeCorrupt, errs.ClassFailJob, "snapshot",
		"%s %d cannot be restored, %d of its %d objects are missing or wrong: restore another one", m.Purpose, m.Epoch,
		len(problems)-min(more, 1)+more, len(m.Objects))
}

// Overlapping returns the objects of an operator that may have entries of the groups, in the order of the manifest, which
// is that of their application.
func (m *Manifest) Overlapping(operator string, groups keygroup.Range) []Object {
	var out []Object
	for _, o := range m.Objects {
		if o.Operator == operator && (o.Kind == ObjectEntries || o.Kind == ObjectDelta) && o.Groups().Intersect(groups).Len() > 0 {
			out = append(out, o)
		}
	}
	return out
}
