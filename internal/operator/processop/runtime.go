package processop

import (
	"fmt"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/state"
)

// Runtime is what a function's context can reach. It belongs to the task's goroutine.
type Runtime struct {
	basic.Moment
	// Op is the operator's own context.
	Op *operator.Context
	// Watermark is the last one, event.NoTime before the first.
	Watermark int64
	// Broadcasts holds the function's broadcast states.
	Broadcasts state.Broadcasts
	// Lists holds the lists that belong to the subtask.
	Lists state.OperatorLists

	out   operator.Collector
	sides []sideOutput
	fails error // what a call of a context found wrong, which has no result to say it with
}

type sideOutput struct {
	name string
	out  outlet // *basic.Outlet[V]
}

// outlet is what the operator needs of a basic.Outlet of any row type.
type outlet interface {
	Flush() error
	Drop()
}

// Fail makes the operator fail with err when the function comes back.
func (rt *Runtime) Fail(err error) {
	if rt.fails == nil {
		rt.fails = err
	}
}

// failed returns why the operator must stop, or nil.
func (rt *Runtime) failed() error {
	if rt.fails != nil {
		return rt.fails
	}
	return rt.Err
}

// Now returns the processing time in ms.
func (rt *Runtime) Now() int64 { return rt.Op.Now() }

// sidesMax bounds the side outputs of one function, which are looked for one by one.
const sidesMax = 1000

// Side returns the outlet of a side output, made at the first call.
func Side[V any](rt *Runtime, name string) *basic.Outlet[V] {
	for i := range rt.sides {
		if rt.sides[i].name == name {
			if o, ok := rt.sides[i].out.(*basic.Outlet[V]); ok {
				return o
			}
			var zero V
			panic(errs.New(errs.CodeUserFunction, errs.ClassUser, rt.Op.Place(),
				"side output %q takes rows of another type than %T: use one tag for each type", name, zero))
		}
	}
	if len(rt.sides) == sidesMax {
		panic(errs.New(errs.CodeLimit, errs.ClassUser, rt.Op.Place(),
			"more than %d side outputs, the last one %q: a tag for each value is no side output; put the value into the row and use one tag", sidesMax, name))
	}
	o := basic.NewOutlet(basic.NewEmitter[V](rt.out, name, rt.Op.BatchRows), &rt.Moment)
	rt.sides = append(rt.sides, sideOutput{name, o})
	return o
}

func (rt *Runtime) flushSides() error {
	for i := range rt.sides {
		if err := rt.sides[i].out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// call runs one of the user's functions outside of rows and timers, and gives its error or panic a place.
func (rt *Runtime) call(what string, f func() error) (err error) {
	if f == nil {
		return nil
	}
	rt.Time = event.NoTime
	defer func() {
		p := recover()
		if rt.fails != nil { // a panic after it is most likely its consequence
			p, err = nil, rt.fails
		}
		err = operator.UserError(rt.Op, p, err, func() string { return " (in " + what + ")" })
	}()
	return f()
}

// eachRow calls f for every row of in, with the row's time as the moment's.
func eachRow[T any](rt *Runtime, in *event.Records[T], f func(i int, row *T) error) (err error) {
	row := 0
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = operator.RowError(rt.Op, p, err, in.Rows[row], in.Times[row])
		}
	}()
	for i := range in.Rows {
		row = i
		rt.Time = in.Times[i]
		if err := f(i, &in.Rows[i]); err != nil {
			return err
		}
		if rt.Err != nil || rt.fails != nil {
			return rt.failed()
		}
	}
	return nil
}

// timeText is a time as messages show it.
func timeText(ms int64) string {
	switch ms {
	case event.NoTime:
		return "none"
	case event.MaxTime:
		return "the end of time"
	}
	return fmt.Sprintf("%s (%d ms)", time.UnixMilli(ms).UTC().Format(time.RFC3339Nano), ms)
}
