package windowop

import (
	"iter"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/keyedstate"
	"github.com/weir-stream/weir/internal/operator/processop"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/window"
)

// Call is what a window function's context can reach. One belongs to one instance of a function, from Open to Close.
type Call[K any] struct {
	*processop.Runtime
	// Key and Window are those at work; the key may be kept. They mean nothing unless Active.
	Key    K
	Window window.Window
	// Active says that a window is at work: it is not in Open and Close.
	Active bool

	key      statebackend.Key
	ns       namespace
	merging  bool
	spaces   string // what the windows are, for the schemas of their states
	backend  statebackend.Keyed
	ofKey    keyedstate.Place
	ofWindow keyedstate.Place
	windows  []windowState
}

// windowState is a state that goes with its window.
type windowState struct {
	name  string
	clear func()
}

// Hooks is one instance of a user's window function, bound to its context and outlet. X is what it gets: the rows, or the
// result of an aggregation. Every field but Fire may be nil.
type Hooks[X any] struct {
	// Open is called once before anything else, Close once at the end, also after a failure.
	Open, Close func() error
	// Fire is called when a window fires.
	Fire func(x X) error
	// Forget is called when the window at work is over, before its states are cleared.
	Forget func() error
}

// lifecycle is Hooks without the type.
type lifecycle struct{ open, forget, close func() error }

func (h *Hooks[X]) lifecycle() lifecycle { return lifecycle{h.Open, h.Forget, h.Close} }

// Function is what is made of a window: Incremental or Whole. It belongs to one operator.
type Function[K, T, U any] struct {
	content func(evicts bool) content[K, T, U]
}

// Incremental aggregates rows as they come; the function gets the result. With an evictor the rows are kept, and aggregated
// when the window fires; if the evictor leaves none, the result is that of no rows, unless needsRows says that there is none.
func Incremental[K, T, A, R, U any](agg Aggregate[T, A, R], needsRows bool, bind func(c *Call[K], out *basic.Outlet[U]) Hooks[R]) Function[K, T, U] {
	return Function[K, T, U]{content: func(evicts bool) content[K, T, U] {
		if !evicts {
			return &accumulated[K, T, A, R, U]{agg: agg, bind: bind}
		}
		return &kept[K, T, U]{bind: func(c *Call[K], out *basic.Outlet[U]) Hooks[iter.Seq[T]] {
			h := bind(c, out)
			return Hooks[iter.Seq[T]]{Open: h.Open, Close: h.Close, Forget: h.Forget, Fire: func(rows iter.Seq[T]) error {
				var acc A
				some := false
				for row := range rows {
					agg.Add(&acc, row)
					some = true
				}
				if !some && needsRows {
					return nil
				}
				return h.Fire(agg.Result(&acc))
			}}
		}}
	}}
}

// Whole keeps the rows of a window and hands all of them to the function when it fires. They can be ranged over several times,
// during the call.
func Whole[K, T, U any](bind func(c *Call[K], out *basic.Outlet[U]) Hooks[iter.Seq[T]]) Function[K, T, U] {
	return Function[K, T, U]{content: func(bool) content[K, T, U] { return &kept[K, T, U]{bind: bind} }}
}

// KeyStore returns the store of states that belong to the key and outlive its windows.
func (c *Call[K]) KeyStore() state.Store {
	return prefixed{keyedstate.New(c.backend, &c.ofKey), "key/", nil}
}

// WindowStore returns the store of states that belong to key and window. Sessions have none, because windows merge and
// states do not.
func (c *Call[K]) WindowStore() (state.Store, error) {
	if c.merging {
		return nil, errs.New(errs.CodeUserFunction, errs.ClassUser, c.Op.Place(),
			"sessions have no state of the window, because sessions merge and states cannot: use a state of the key")
	}
	return prefixed{keyedstate.NewSpaced(c.backend, &c.ofWindow, len(namespace{}), c.spaces), "window/", func(name string, clear func()) {
		for _, w := range c.windows {
			if w.name == name {
				return
			}
		}
		c.windows = append(c.windows, windowState{name, clear})
	}}, nil
}

// enter puts a window to work.
func (c *Call[K]) enter(key statebackend.Key, w window.Window, watermark int64) {
	c.Window, c.Active, c.key, c.ns = w, true, key, namespaceOf(w)
	c.Time, c.Watermark = w.MaxTimestamp(), watermark
	c.ofKey.At(key.Hash, key.Bytes)
	c.ofWindow.At(key.Hash, key.Bytes)
	c.ofWindow.NS = c.ns[:]
}

// leave ends that.
func (c *Call[K]) leave() {
	c.Active = false
	c.ofKey.Leave()
	c.ofWindow.Leave()
}

// prefixed is a store whose states have names of their own, so that a state of the user's never meets one of the operator.
type prefixed struct {
	state.Store
	prefix string
	opened func(name string, clear func()) // may be nil
}

func (p prefixed) note(name string, clear func()) {
	if p.opened != nil {
		p.opened(name, clear)
	}
}

// OpenValue implements state.Store.
func (p prefixed) OpenValue(s state.Spec) (state.RawValue, error) {
	s.Name = p.prefix + s.Name
	v, err := p.Store.OpenValue(s)
	if err == nil {
		p.note(s.Name, v.Clear)
	}
	return v, err
}

// OpenList implements state.Store.
func (p prefixed) OpenList(s state.Spec) (state.RawList, error) {
	s.Name = p.prefix + s.Name
	l, err := p.Store.OpenList(s)
	if err == nil {
		p.note(s.Name, l.Clear)
	}
	return l, err
}

// OpenMap implements state.Store.
func (p prefixed) OpenMap(s state.Spec) (state.RawMap, error) {
	s.Name = p.prefix + s.Name
	m, err := p.Store.OpenMap(s)
	if err == nil {
		p.note(s.Name, m.Clear)
	}
	return m, err
}
