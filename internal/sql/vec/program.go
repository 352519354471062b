package vec

import (
	"fmt"
	"time"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/sql/expr"
)

// Env is what values depend on beside the row.
type Env struct {
	// Zone is the session's time zone.
	Zone *time.Location
	// Now is the processing time in ms; dynamic functions ask it once a batch.
	Now func() int64
	// Random yields 64 random bits, for RAND and UUID.
	Random func() uint64
	// Database and Catalog are the current ones.
	Database, Catalog string
}

// Program is a compiled expression.
type Program struct {
	f    frame
	root kernel
	expr expr.Expr
}

// frame is the batch that a program works on.
type frame struct {
	env  *Env
	b    *column.Batch
	n    int
	free [][]int32 // scratch selections
}

// kernel is a compiled node.
type kernel interface {
	// eval computes the rows of sel. The vector is the kernel's own or the batch's and must not be changed.
	eval(f *frame, sel []int32) (*column.Vector, error)
}

// chooser is a kernel of a condition that can select without a vector of truth values.
type chooser interface {
	// choose appends to out, which has room, the rows of sel for which the condition is true. out may be sel's own memory.
	choose(f *frame, sel, out []int32) ([]int32, error)
}

// builder compiles a call whose arguments are compiled.
type builder func(c *compiler, call *expr.Call, args []kernel) (kernel, error)

// builders are the functions by name.
var builders = map[string]builder{}

func register(b builder, names ...string) {
	for _, n := range names {
		if builders[n] != nil {
			panic("vec: two functions called " + n)
		}
		builders[n] = b
	}
}

// Supports reports whether there is an implementation of the function of that name.
func Supports(name string) bool { return builders[name] != nil }

type compiler struct{ env *Env }

// Compile compiles e. Its columns are those of the batches that the program is given.
func Compile(e expr.Expr, env *Env) (*Program, error) {
	c := &compiler{env: env}
	k, err := c.compile(e)
	if err != nil {
		return nil, err
	}
	return &Program{f: frame{env: env}, root: k, expr: e}, nil
}

func (c *compiler) compile(e expr.Expr) (kernel, error) {
	switch e := e.(type) {
	case *expr.Column:
		return columnKernel(e.Index), nil
	case *expr.Literal:
		return newConstant(e)
	case *expr.Case:
		return c.compileCase(e)
	case *expr.Cast:
		arg, err := c.compile(e.Arg)
		if err != nil {
			return nil, err
		}
		return c.cast(e, arg)
	case *expr.Call:
		args := make([]kernel, len(e.Args))
		for i, a := range e.Args {
			var err error
			if args[i], err = c.compile(a); err != nil {
				return nil, err
			}
		}
		b := builders[e.Fn.Name]
		if b == nil {
			return nil, fmt.Errorf("vec: %s has no implementation", e.Fn.Name)
		}
		return b(c, e, args)
	}
	return nil, fmt.Errorf("vec: %T cannot be compiled", e)
}

// Eval computes the rows of sel, all if it is nil.
func (p *Program) Eval(b *column.Batch, sel []int32) (*column.Vector, error) {
	p.f.b, p.f.n = b, b.Rows()
	v, err := p.root.eval(&p.f, sel)
	if err != nil {
		return nil, p.failed(err)
	}
	return v, nil
}

// Select returns those rows of sel (nil: all) for which the condition is true, in out's memory, which may be that of sel.
func (p *Program) Select(b *column.Batch, sel, out []int32) ([]int32, error) {
	p.f.b, p.f.n = b, b.Rows()
	if cap(out) < p.f.n {
		out = make([]int32, 0, max(p.f.n, b.Cap()))
	}
	out, err := p.f.choose(p.root, sel, out[:0])
	if err != nil {
		return nil, p.failed(err)
	}
	return out, nil
}

func (p *Program) failed(err error) error {
	return errs.Wrap(err, errs.CodeUserFunction, errs.ClassFailTask, "", "the expression %s cannot be computed", p.expr)
}

// Column returns the column that the program merely hands on, or -1.
func (p *Program) Column() int {
	if c, ok := p.root.(columnKernel); ok {
		return int(c)
	}
	return -1
}

// choose selects by any kernel of a BOOLEAN.
func (f *frame) choose(k kernel, sel, out []int32) ([]int32, error) {
	if c, ok := k.(chooser); ok {
		return c.choose(f, sel, out)
	}
	v, err := k.eval(f, sel)
	if err != nil {
		return nil, err
	}
	return whereTrue(v, f.n, sel, out), nil
}

// whereTrue appends the rows whose value is there and true.
func whereTrue(v *column.Vector, n int, sel, out []int32) []int32 {
	bits, valid := v.Bits(), v.Validity()
	if sel == nil {
		for i := range int32(n) {
			if bits[i>>3]>>(i&7)&1 != 0 && (valid == nil || valid[i>>3]>>(i&7)&1 != 0) {
				out = append(out, i)
			}
		}
		return out
	}
	for _, i := range sel {
		if bits[i>>3]>>(i&7)&1 != 0 && (valid == nil || valid[i>>3]>>(i&7)&1 != 0) {
			out = append(out, i)
		}
	}
	return out
}

// scratch lends an empty selection with room for all rows, until giveBack.
func (f *frame) scratch() []int32 {
	if k := len(f.free); k > 0 {
		s := f.free[k-1]
		f.free = f.free[:k-1]
		if cap(s) >= f.n {
			return s[:0]
		}
	}
	return make([]int32, 0, max(f.n, column.DefaultRows))
}

func (f *frame) giveBack(s []int32) { f.free = append(f.free, s) }

// sparse says that a loop over the selected rows is cheaper than one over all.
func (f *frame) sparse(sel []int32) bool { return sel != nil && len(sel)*4 < f.n }

// each calls do for the rows of sel at which v is there; only for what is not hot.
func (f *frame) each(sel []int32, v *column.Vector, do func(i int) error) error {
	if sel == nil {
		for i := range f.n {
			if !v.Null(i) {
				if err := do(i); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, i := range sel {
		if !v.Null(int(i)) {
			if err := do(int(i)); err != nil {
				return err
			}
		}
	}
	return nil
}
