package basic

// Moment is what the outlets of one operator share: the event time that rows get, and the first error behind an emit.
type Moment struct {
	// Time is the event time of the row or timer at work, event.NoTime if it has none.
	Time int64
	// Err is the first error of a consumer. What is emitted after it is dropped; the operator returns it when the user's
	// function comes back.
	Err error
}

// Outlet is what a user's function emits with. It belongs to the task's goroutine.
type Outlet[U any] struct {
	em *Emitter[U]
	m  *Moment
}

// NewOutlet returns an outlet in front of an emitter.
func NewOutlet[U any](em *Emitter[U], m *Moment) *Outlet[U] { return &Outlet[U]{em: em, m: m} }

// Emit adds a row with the time of the moment.
func (o *Outlet[U]) Emit(v U) { o.EmitAt(v, o.m.Time) }

// EmitAt adds a row with a time of its own, in ms.
func (o *Outlet[U]) EmitAt(v U, t int64) {
	if o.m.Err == nil {
		o.m.Err = o.em.Emit(v, t)
	}
}

// Flush sends what has been gathered.
func (o *Outlet[U]) Flush() error { return o.em.Flush() }

// Drop releases what has been gathered, for Close after a failure.
func (o *Outlet[U]) Drop() { o.em.Drop() }
