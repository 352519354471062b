package vec

import (
	"fmt"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/sql/expr"
)

func init() {
	register(func(_ *compiler, _ *expr.Call, args []kernel) (kernel, error) {
		return &junction{args: args, and: true, out: boolVector()}, nil
	}, "AND")
	register(func(_ *compiler, _ *expr.Call, args []kernel) (kernel, error) {
		return &junction{args: args, out: boolVector()}, nil
	}, "OR")
	register(func(_ *compiler, _ *expr.Call, args []kernel) (kernel, error) {
		return &not{a: args[0], out: boolVector()}, nil
	}, "NOT")
	register(buildIs, "IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "IS UNKNOWN", "IS NOT UNKNOWN")
}

// junction is AND or OR of any number of conditions, with three truth values. A condition is computed only for the rows that those
// before have not decided.
type junction struct {
	args []kernel
	and  bool
	out  column.Vector
	mark []bool // of choose, for OR
}

func (k *junction) eval(f *frame, sel []int32) (*column.Vector, error) {
	k.out.Begin(f.n)
	bits := k.out.Bits()
	for i := range bits { // as if there were no conditions
		bits[i] = 0
		if k.and {
			bits[i] = 0xFF
		}
	}
	unknown := f.scratch()[:0] // rows that some condition leaves open
	open, spare := sel, f.scratch()
	defer func() { f.giveBack(spare); f.giveBack(unknown) }()
	for _, a := range k.args {
		v, err := a.eval(f, open)
		if err != nil {
			return nil, err
		}
		next := spare[:0]
		visit := func(i int32) {
			switch {
			case v.Null(int(i)):
				unknown = append(unknown, i)
				next = append(next, i)
			case v.Bool(int(i)) == k.and:
				next = append(next, i)
			default:
				k.out.SetBool(int(i), !k.and)
			}
		}
		if open == nil {
			for i := range int32(f.n) {
				visit(i)
			}
		} else {
			for _, i := range open {
				visit(i) // next may be open's memory: it is never ahead
			}
		}
		open, spare = next, next
	}
	for _, i := range unknown { // those that no later condition has decided
		if k.out.Bool(int(i)) == k.and {
			k.out.SetNull(int(i))
		}
	}
	return &k.out, nil
}

// choose implements chooser.
func (k *junction) choose(f *frame, sel, out []int32) ([]int32, error) {
	if k.and {
		var err error
		for _, a := range k.args {
			if sel, err = f.choose(a, sel, out[:0]); err != nil {
				return nil, err
			}
		}
		return sel, nil
	}
	// OR: each condition looks at what those before have not taken; the union is put in order at the end.
	left, rest, hit := sel, f.scratch(), f.scratch()
	defer func() { f.giveBack(rest); f.giveBack(hit) }()
	k.mark = append(k.mark[:0], make([]bool, f.n)...)
	mark := k.mark
	for _, a := range k.args {
		got, err := f.choose(a, left, hit[:0])
		if err != nil {
			return nil, err
		}
		hit = got
		for _, i := range got {
			mark[i] = true
		}
		next := rest[:0]
		if left == nil {
			for i := range int32(f.n) {
				if !mark[i] {
					next = append(next, i)
				}
			}
		} else {
			for _, i := range left {
				if !mark[i] {
					next = append(next, i)
				}
			}
		}
		left, rest = next, next
	}
	if sel == nil {
		for i := range int32(f.n) {
			if mark[i] {
				out = append(out, i)
			}
		}
		return out, nil
	}
	for _, i := range sel {
		if mark[i] {
			out = append(out, i)
		}
	}
	return out, nil
}

type not struct {
	a   kernel
	out column.Vector
}

func (k *not) eval(f *frame, sel []int32) (*column.Vector, error) {
	v, err := k.a.eval(f, sel)
	if err != nil {
		return nil, err
	}
	k.out.Begin(f.n)
	k.out.SetValidity(v)
	in, out := v.Bits(), k.out.Bits()
	for i := range out {
		out[i] = ^in[i]
	}
	return &k.out, nil
}

// is tests for a truth value or for absence; its own value is never missing.
type is struct {
	a kernel
	// null, yes, no are what it says of missing, true and false values.
	null, yes, no bool
	out           column.Vector
}

func buildIs(_ *compiler, call *expr.Call, args []kernel) (kernel, error) {
	k := &is{a: args[0], out: boolVector()}
	switch call.Fn.Name {
	case "IS NULL", "IS UNKNOWN":
		k.null = true
	case "IS NOT NULL", "IS NOT UNKNOWN":
		k.yes, k.no = true, true
	case "IS TRUE":
		k.yes = true
	case "IS NOT TRUE":
		k.null, k.no = true, true
	case "IS FALSE":
		k.no = true
	case "IS NOT FALSE":
		k.null, k.yes = true, true
	}
	return k, nil
}

func (k *is) eval(f *frame, sel []int32) (*column.Vector, error) {
	v, err := k.a.eval(f, sel)
	if err != nil {
		return nil, err
	}
	k.out.Begin(f.n)
	for i := range f.n {
		switch {
		case v.Null(i):
			k.out.SetBool(i, k.null)
		case k.yes == k.no:
			k.out.SetBool(i, k.yes)
		default:
			k.out.SetBool(i, v.Bool(i) == k.yes)
		}
	}
	return &k.out, nil
}

// caseKernel computes each branch for the rows that take it.
type caseKernel struct {
	when, then []kernel
	otherwise  kernel
	out        column.Vector

	parts [][]int32 // the rows of each branch
	vecs  []*column.Vector
	where []int32 // which branch a row takes, counted from 1
}

func (c *compiler) compileCase(e *expr.Case) (kernel, error) {
	k := &caseKernel{out: column.NewVector(e.Of.WithNull(true).Field(""), 0)}
	for i := range e.When {
		w, err := c.compile(e.When[i])
		if err != nil {
			return nil, err
		}
		t, err := c.compile(e.Then[i])
		if err != nil {
			return nil, err
		}
		if e.Then[i].Type().Kind() != e.Of.Kind() {
			return nil, fmt.Errorf("vec: a branch of type %v in a CASE of type %v", e.Then[i].Type(), e.Of)
		}
		k.when, k.then = append(k.when, w), append(k.then, t)
	}
	var err error
	k.otherwise, err = c.compile(e.Else)
	return k, err
}

func (k *caseKernel) eval(f *frame, sel []int32) (*column.Vector, error) {
	k.parts = k.parts[:0]
	defer func() {
		for _, p := range k.parts {
			f.giveBack(p)
		}
	}()
	left := sel
	for i := range k.when {
		hit, err := f.choose(k.when[i], left, f.scratch())
		if err != nil {
			return nil, err
		}
		k.parts = append(k.parts, hit)
		rest := without(f, left, hit)
		if i > 0 {
			f.giveBack(left)
		}
		left = rest
	}
	k.parts = append(k.parts, left)
	k.where = append(k.where[:0], make([]int32, f.n)...)
	k.vecs = append(k.vecs[:0], make([]*column.Vector, len(k.parts))...)
	for i, rows := range k.parts {
		if len(rows) == 0 {
			continue
		}
		branch := k.otherwise
		if i < len(k.then) {
			branch = k.then[i]
		}
		v, err := branch.eval(f, rows)
		if err != nil {
			return nil, err
		}
		k.vecs[i] = v
		for _, r := range rows {
			k.where[r] = int32(i + 1)
		}
	}
	merge(&k.out, f.n, k.vecs, k.where)
	return &k.out, nil
}

// without returns the rows of sel that are not in hit, in scratch memory.
func without(f *frame, sel, hit []int32) []int32 {
	out, h := f.scratch(), 0
	keep := func(i int32) {
		if h < len(hit) && hit[h] == i {
			h++
			return
		}
		out = append(out, i)
	}
	if sel == nil {
		for i := range int32(f.n) {
			keep(i)
		}
		return out
	}
	for _, i := range sel {
		keep(i)
	}
	return out
}

// merge makes out of those values of vecs that where names, counted from 1; rows with 0 are undefined.
func merge(out *column.Vector, n int, vecs []*column.Vector, where []int32) {
	switch out.Kind() {
	case column.Bool, column.String, column.Bytes, column.List, column.Map, column.Struct:
		out.Begin(0)
		row := []int32{0}
		for i := range int32(n) {
			if w := where[i]; w > 0 {
				row[0] = i
				out.Gather(vecs[w-1], row)
			} else {
				out.AppendNull()
			}
		}
		return
	}
	out.Begin(n)
	switch out.Kind().Width() {
	case 1:
		mergeFixed[int8](out, vecs, where)
	case 2:
		mergeFixed[int16](out, vecs, where)
	case 4:
		mergeFixed[int32](out, vecs, where)
	case 8:
		mergeFixed[int64](out, vecs, where)
	default:
		mergeFixed[column.Int128](out, vecs, where)
	}
}

func mergeFixed[T column.Fixed](out *column.Vector, vecs []*column.Vector, where []int32) {
	o := column.Raw[T](out)
	for w, v := range vecs {
		if v == nil {
			continue
		}
		in, nulls := column.Raw[T](v), v.Nulls() > 0
		for i, at := range where {
			if int(at) != w+1 {
				continue
			}
			if nulls && v.Null(i) {
				out.SetNull(i)
				continue
			}
			o[i] = in[i]
		}
	}
}
