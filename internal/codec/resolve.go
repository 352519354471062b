package codec

import (
	"fmt"
	"strings"

	"github.com/weir-stream/weir/internal/errs"
)

// Plan says how bytes of one schema are read as a value of another. It is made by Resolve and immutable.
type Plan struct {
	// Changes lists what differs, in the order of the old schema, then what is new. Empty: the bytes are the same.
	Changes []Change
	root    *step
}

// Identical says that bytes of the old schema are bytes of the new one.
func (p *Plan) Identical() bool { return p.root.same }

// Change is one allowed difference between two schemas.
type Change struct {
	Path string // of the field, without the name of the value itself: "Meta.Count"
	What string // "added", "dropped", "renamed from x", "widened from int32 to int64", "may be nil now", "laid out anew"
}

// dropped is the only change that loses something.
const dropped = "dropped"

// String is the change as one line.
func (c Change) String() string { return c.Path + " " + c.What }

// step is the part of a plan for one value.
type step struct {
	old, new *Schema
	same     bool // the same bytes
	widen    bool // a scalar that becomes another scalar
	box      bool // a value that becomes a pointer to it; elem is the way of the value
	fields   []fieldStep
	elem     *step
}

// fieldStep is what happens to one field of the old struct; step is nil if it is dropped.
type fieldStep struct {
	old, new int
	step     *step
}

// Resolve compares the schema that bytes were written with to the one that they are to be read with. Fields may have
// been added (they read as zero), dropped, renamed by tag, widened without loss, and become pointers. Everything else is refused; the
// error has one line for each offence and no prefix: the caller knows the table and the operator.
func Resolve(old, new *Schema) (*Plan, error) {
	r := resolver{}
	root := r.step(old, new, "")
	if len(r.refused) > 0 {
		return nil, errs.New(errs.CodeSchema, errs.ClassFailJob, "", "%s", strings.Join(r.refused, "\n"))
	}
	return &Plan{Changes: r.changes, root: root}, nil
}

type resolver struct {
	changes []Change
	refused []string
}

func (r *resolver) change(path, format string, args ...any) {
	r.changes = append(r.changes, Change{subject(path), fmt.Sprintf(format, args...)})
}

func subject(path string) string {
	if path == "" {
		return "value"
	}
	return path
}

func (r *resolver) refuse(path string, old, new *Schema, why string) *step {
	what := "value"
	if path != "" {
		what = fmt.Sprintf("field %q", path)
	}
	r.refused = append(r.refused, fmt.Sprintf(
		"%s was %s when it was written and is %s now. %s, or register a migration function.", what, old, new, why))
	return nil
}

// step returns nil after a refusal.
func (r *resolver) step(old, new *Schema, path string) *step {
	s := &step{old: old, new: new, same: old.Equal(new)}
	if old.Kind != KindPointer && new.Kind == KindPointer {
		s.box = true
		r.change(path, "may be nil now")
		s.elem = r.step(old, new.Elem, path)
		return s
	}
	if old.Kind != new.Kind {
		if s.widen = widens(old.Kind, new.Kind); !s.widen {
			why := "Keep " + old.String()
			switch {
			case old.Kind == KindPointer:
				why = "It may be nil, which " + new.String() + " cannot say. " + why
			case scalarSize[old.Kind] > 0 && scalarSize[new.Kind] > 0:
				why = "A value may not fit. " + why
			}
			return r.refuse(path, old, new, why)
		}
		r.change(path, "widened from %s to %s", old.Kind, new.Kind)
		return s
	}
	switch old.Kind {
	case KindOpaque:
		if old.Type != new.Type {
			return r.refuse(path, old, new, "Only the type that wrote it can read it. Keep the type")
		}
	case KindArray:
		if old.Len != new.Len {
			return r.refuse(path, old, new, "Keep the length")
		}
		s.elem = r.step(old.Elem, new.Elem, path+"[]")
	case KindSlice:
		if w, _ := old.Elem.width(); w == 0 && !s.same {
			return r.refuse(path, old, new, "Elements without content cannot be given one. Add a second field")
		}
		s.elem = r.step(old.Elem, new.Elem, path+"[]")
	case KindPointer:
		s.elem = r.step(old.Elem, new.Elem, path)
	case KindMap:
		if !old.Key.Equal(new.Key) {
			return r.refuse(path, old, new, "Keys cannot change. Keep "+old.Key.String()+" as the key")
		}
		s.elem = r.step(old.Elem, new.Elem, path+"[]")
	case KindStruct:
		r.structure(s, path)
	}
	return s
}

func (r *resolver) structure(s *step, path string) {
	dot := ""
	if path != "" {
		dot = path + "."
	}
	target := matchFields(s.old, s.new, func(field, was string) {
		r.refused = append(r.refused, fmt.Sprintf(
			"field %q was called %q, but another field is called that now. Give that other field a new id with a tag.",
			dot+field, was))
	})
	taken := make([]bool, len(s.new.Fields))
	for i := range s.old.Fields {
		of := &s.old.Fields[i]
		fs := fieldStep{old: i, new: target[i]}
		if fs.new < 0 {
			r.change(dot+of.ID, dropped)
		} else {
			nf := &s.new.Fields[fs.new]
			taken[fs.new] = true
			if nf.ID != of.ID {
				r.change(dot+nf.ID, "renamed from %s", of.ID)
			}
			fs.step = r.step(of.Type, nf.Type, dot+nf.ID)
		}
		s.fields = append(s.fields, fs)
	}
	for i := range s.new.Fields {
		if !taken[i] {
			r.change(dot+s.new.Fields[i].ID, "added")
		}
	}
	if !s.same && len(r.changes) == 0 {
		r.change(path, "laid out anew")
	}
}

// matchFields finds for each field of old the field of new that takes it, or -1. The id decides; a field of new whose
// id is unknown to old takes the first of its former names that old has. clash reports a former name that is another
// field's name in new, where either choice could be wrong.
func matchFields(old, new *Schema, clash func(field, was string)) []int {
	target := make([]int, len(old.Fields))
	byID := make(map[string]int, len(old.Fields))
	for i := range old.Fields {
		target[i] = -1
		byID[old.Fields[i].ID] = i
	}
	for j := range new.Fields {
		if i, ok := byID[new.Fields[j].ID]; ok {
			target[i] = j
		}
	}
	for j := range new.Fields {
		f := &new.Fields[j]
		if _, ok := byID[f.ID]; ok {
			continue
		}
		for _, was := range f.Was {
			i, ok := byID[was]
			if !ok {
				continue
			}
			if target[i] >= 0 {
				clash(f.ID, was)
			} else {
				target[i] = j
			}
			break
		}
	}
	return target
}

// widening lists for each kind the kinds that hold every value of it exactly. A duration is an int64 with a unit.
var widening = map[Kind][]Kind{
	KindInt8:      {KindInt16, KindInt32, KindInt64, KindFloat32, KindFloat64},
	KindInt16:     {KindInt32, KindInt64, KindFloat32, KindFloat64},
	KindInt32:     {KindInt64, KindFloat64},
	KindInt64:     {KindDuration},
	KindDuration:  {KindInt64},
	KindUint8:     {KindUint16, KindUint32, KindUint64, KindInt16, KindInt32, KindInt64, KindFloat32, KindFloat64},
	KindUint16:    {KindUint32, KindUint64, KindInt32, KindInt64, KindFloat32, KindFloat64},
	KindUint32:    {KindUint64, KindInt64, KindFloat64},
	KindFloat32:   {KindFloat64},
	KindComplex64: {KindComplex128},
}

func widens(from, to Kind) bool {
	for _, k := range widening[from] {
		if k == to {
			return true
		}
	}
	return false
}
