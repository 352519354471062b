package processop

import (
	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
)

// Function is one instance of a user's function, bound to its context and outlet. Every field but Inputs may be nil.
type Function struct {
	// Open is called once before anything else, Close once at the end, also after a failure.
	Open, Close func() error
	// OnTimer is called for each timer that is due, with the key at work.
	OnTimer func(t int64, processing bool) error
	// Inputs take the batches, by gate. Rows and KeyedRows make them.
	Inputs []Input
}

// Input takes a batch of one gate, which moves to it.
type Input func(b event.Batch) error

// New returns an operator that works without keys. bind makes the function of the subtask; it is called in Open.
func New[U any](bind func(rt *Runtime, out *basic.Outlet[U]) (Function, error)) operator.Operator {
	return &op[U]{bind: bind, rt: &Runtime{}}
}

type op[U any] struct {
	bind  func(rt *Runtime, out *basic.Outlet[U]) (Function, error)
	rt    *Runtime
	keyed timeKeeper // nil without keys
	out   *basic.Outlet[U]
	f     Function
	made  bool
}

// timeKeeper is the part of Keyed that the operator drives.
type timeKeeper interface {
	open(f *Function) error
	fireEvent(t int64) error
	afterRestore()
	finish()
	close() error
}

func (o *op[U]) Open(ctx *operator.Context, out operator.Collector) error {
	rt := o.rt
	rt.Op, rt.out, rt.Watermark, rt.Time = ctx, out, ctx.WatermarkThen(), event.NoTime
	o.out = basic.NewOutlet(basic.NewEmitter[U](out, "", ctx.BatchRows), &rt.Moment)
	if err := rt.restore(); err != nil {
		return err
	}
	err := rt.call("the function's making", func() (err error) {
		o.f, err = o.bind(rt, o.out)
		return err
	})
	if err != nil {
		return err
	}
	o.made = true
	if o.keyed != nil {
		if err := o.keyed.open(&o.f); err != nil {
			return err
		}
	}
	return rt.call("Open", o.f.Open)
}

func (o *op[U]) Process(input int, b event.Batch) error { return o.f.Inputs[input](b) }

// Watermark fires the event timers that t makes due.
func (o *op[U]) Watermark(t int64) error {
	o.rt.Watermark = t
	if o.keyed == nil {
		return nil
	}
	return o.keyed.fireEvent(t)
}

// Snapshot implements operator.Snapshotter.
func (o *op[U]) Snapshot(cut *operator.Cut) error { return o.rt.Snapshot(cut) }

// BlobStates implements operator.BlobStates.
func (o *op[U]) BlobStates(f func(blob string, keys *codec.Schema, values *codec.Values)) {
	o.rt.BlobStates(f)
}

// AfterRestore implements operator.Restorer.
func (o *op[U]) AfterRestore() error {
	if o.keyed != nil {
		o.keyed.afterRestore()
	}
	return nil
}

// PendingTimers implements operator.TimerHolder.
func (o *op[U]) PendingTimers() (event, processing int) {
	if h, ok := o.keyed.(operator.TimerHolder); ok {
		return h.PendingTimers()
	}
	return 0, 0
}

// Flush implements operator.Flusher.
func (o *op[U]) Flush() error {
	if err := o.out.Flush(); err != nil {
		return err
	}
	return o.rt.flushSides()
}

// Finish implements operator.Finisher.
func (o *op[U]) Finish() error {
	if o.keyed != nil {
		o.keyed.finish()
	}
	return nil
}

func (o *op[U]) Close() error {
	if o.out != nil {
		o.out.Drop()
	}
	for _, s := range o.rt.sides {
		s.out.Drop()
	}
	var err error
	if o.made {
		o.made = false
		o.rt.fails = nil
		err = o.rt.call("Close", o.f.Close)
	}
	if o.keyed != nil {
		if kerr := o.keyed.close(); err == nil {
			err = kerr
		}
	}
	return err
}

// Rows returns the input of a stream without keys.
func Rows[T any](rt *Runtime, f func(row *T) error) Input {
	each := func(_ int, row *T) error { return f(row) }
	return func(b event.Batch) error {
		in := b.(*event.Records[T])
		defer in.Release()
		in.Compact()
		return eachRow(rt, in, each)
	}
}
