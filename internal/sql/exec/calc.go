package exec

import (
	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/sql/physical"
	"github.com/weir-stream/weir/internal/sql/vec"
)

// Schema returns the form of the batches that have these columns.
func Schema(cols []physical.Column) *column.Schema {
	s := &column.Schema{}
	for _, c := range cols {
		s.Fields = append(s.Fields, c.Type.Field(c.Name))
	}
	return s
}

// calc filters and projects.
type calc struct {
	node   *physical.Calc
	env    *vec.Env
	filter *vec.Program
	// project has a program for each column that is computed, source the input's column for each that is handed on.
	project []*vec.Program
	source  []int
	// last says that no later column hands the same one on, so that its vector can be moved.
	last []bool
	pool *event.ColumnPool
	out  operator.Collector
}

// NewCalc returns the operator of a Calc. An operator has its own programs, so every subtask needs one.
func NewCalc(n *physical.Calc, env *vec.Env) operator.Operator { return &calc{node: n, env: env} }

// Open implements operator.Operator.
func (o *calc) Open(ctx *operator.Context, out operator.Collector) error {
	o.out = out
	o.pool = event.NewColumnPool(Schema(o.node.Out), ctx.BatchRows)
	var err error
	if o.node.Filter != nil {
		if o.filter, err = vec.Compile(o.node.Filter, o.env); err != nil {
			return err
		}
	}
	n := len(o.node.Project)
	o.project, o.source, o.last = make([]*vec.Program, n), make([]int, n), make([]bool, n)
	seen := map[int]bool{}
	for i := n - 1; i >= 0; i-- {
		p, err := vec.Compile(o.node.Project[i], o.env)
		if err != nil {
			return err
		}
		o.source[i] = p.Column()
		if o.source[i] < 0 {
			o.project[i] = p
			continue
		}
		o.last[i] = !seen[o.source[i]]
		seen[o.source[i]] = true
	}
	return nil
}

// Process implements operator.Operator.
func (o *calc) Process(_ int, b event.Batch) error {
	in := b.(*event.Columns)
	if o.filter != nil {
		live, err := o.filter.Select(in.B, in.B.Live, in.B.Scratch())
		if err != nil {
			in.Release()
			return err
		}
		if len(live) == 0 {
			in.Release()
			return nil
		}
		if len(live) < in.B.Rows() {
			in.B.Live = live
		}
	}
	out := o.pool.Get()
	err := o.fill(out.B, in.B)
	in.Release()
	if err != nil {
		out.Release()
		return err
	}
	return o.out.Emit(out)
}

// fill computes the columns of out; those that are handed on are moved last, because others may be computed of them.
func (o *calc) fill(out, in *column.Batch) error {
	for i, p := range o.project {
		if p == nil {
			continue
		}
		v, err := p.Eval(in, in.Live)
		if err != nil {
			return err
		}
		out.Vector(i).CopyFrom(v)
	}
	for i, c := range o.source {
		switch {
		case c < 0:
		case o.last[i]:
			out.Vector(i).Swap(in.Vector(c))
		default:
			out.Vector(i).CopyFrom(in.Vector(c))
		}
	}
	out.SetRows(in.Rows())
	out.Changes = append(out.Changes[:0], in.Changes...)
	if in.Live != nil {
		out.Live = append(out.Scratch(), in.Live...)
	}
	return nil
}

// Watermark implements operator.Operator.
func (o *calc) Watermark(int64) error { return nil }

// Close implements operator.Operator.
func (o *calc) Close() error { return nil }
