package weir

import (
	"time"

	"github.com/weir-stream/weir/internal/operator/basic"
)

// Out takes the rows that a function emits. It may be used only while the function runs that was given it.
//
// A consumer that fails or a job that is cancelled makes further calls do nothing; the job learns of it when the function
// returns. A function that emits without end should watch Context.Done.
type Out[U any] struct{ o *basic.Outlet[U] }

// Emit sends a row with the event time of the input row, or of the timer, that the function was called for.
func (o Out[U]) Emit(v U) { o.o.Emit(v) }

// EmitAt sends a row with an event time of its own. One at or behind the watermark will be late further on.
func (o Out[U]) EmitAt(v U, t time.Time) { o.o.EmitAt(v, t.UnixMilli()) }
