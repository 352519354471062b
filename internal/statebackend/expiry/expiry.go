package expiry

import (
	"encoding/binary"
	"math"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// Unknown is the stamp of what was restored from a state that had none, or written before the clock said anything. It
// becomes the time at which it is first met.
const Unknown = math.MinInt64

// StampBytes is the size of a stamp.
const StampBytes = 8

// The clocks as schemas name them.
const (
	ProcessingTime = "processing time"
	EventTime      = "event time"
)

// Clocks are the two times of an operator in ms. Event says Unknown as long as there was no watermark.
type Clocks struct {
	Processing, Event func() int64
}

// Keyed is a backend whose states may expire.
type Keyed struct {
	statebackend.Keyed
	groups keygroup.Range
	clocks Clocks
	count  func(state string) func(n int64)
	states map[string]*expiring
}

var _ statebackend.Cutter = (*Keyed)(nil)

// New stands before a backend that was opened with cfg. count returns what adds up the units of a state that have expired
// and were removed; it is called once for each such state.
func New(inner statebackend.Keyed, cfg statebackend.Config, clocks Clocks, count func(state string) func(n int64)) *Keyed {
	if cfg.Groups == (keygroup.Range{}) {
		cfg.Groups = keygroup.All()
	}
	return &Keyed{Keyed: inner, groups: cfg.Groups, clocks: clocks, count: count, states: map[string]*expiring{}}
}

// expiring is what the kinds have in common.
type expiring struct {
	statebackend.Expiry
	width int // of a value without its stamp, 0 if they vary
	now   func() int64
	count func(n int64)
	sweep sweep
	state any
	buf   []byte
}

// open returns the state of a name, made by make from the backend's own, which inner opens.
func open[S, T any](k *Keyed, d statebackend.Descriptor, inner func(statebackend.Descriptor) (S, error), make func(*expiring, S) T) (T, error) {
	var none T
	physical, err := stamped(d)
	if err != nil {
		return none, err
	}
	in, err := inner(physical)
	if err != nil {
		return none, err
	}
	if e := k.states[d.Name]; e != nil {
		if e.Expiry != *d.Expiry {
			return none, errs.New(errs.CodeSchema, errs.ClassUser, "state "+d.Name,
				"opened twice in the same operator with different times to live: give the two states different names")
		}
		return e.state.(T), nil
	}
	e := &expiring{Expiry: *d.Expiry, width: d.Width, now: k.clocks.Processing, count: k.count(d.Name)}
	if e.EventTime {
		e.now = k.clocks.Event
	}
	e.sweep.over, _ = any(in).(statebackend.Sweeper)
	e.sweep.groups, e.sweep.next, e.sweep.span = k.groups, k.groups.From, 1
	s := make(e, in)
	e.state = s
	k.states[d.Name] = e
	return s, nil
}

// stamped returns the descriptor of the table that keeps a state with its stamps.
func stamped(d statebackend.Descriptor) (statebackend.Descriptor, error) {
	if d.Expiry.After <= 0 {
		return d, errs.New(errs.CodeSchema, errs.ClassUser, "state "+d.Name, "a time to live of %d ms: it must be above 0", d.Expiry.After)
	}
	var t codec.Table
	if len(d.Schema) > 0 {
		parsed, err := codec.ParseTable(d.Schema)
		if err != nil {
			return d, errs.Wrap(err, errs.CodeBug, errs.ClassBug, "state "+d.Name, "its schema")
		}
		t = *parsed
	}
	t.Expiry = ProcessingTime
	if d.Expiry.EventTime {
		t.Expiry = EventTime
	}
	d.Schema = t.Append(nil)
	if d.Width > 0 {
		d.Width += StampBytes
	}
	d.Expiry = nil
	return d, nil
}

// Value implements statebackend.Keyed.
func (k *Keyed) Value(d statebackend.Descriptor) (statebackend.Value, error) {
	if d.Expiry == nil {
		return k.Keyed.Value(d)
	}
	return open(k, d, k.Keyed.Value, func(e *expiring, in statebackend.Value) statebackend.Value { return newValue(e, in) })
}

// List implements statebackend.Keyed.
func (k *Keyed) List(d statebackend.Descriptor) (statebackend.List, error) {
	if d.Expiry == nil {
		return k.Keyed.List(d)
	}
	return open(k, d, k.Keyed.List, func(e *expiring, in statebackend.List) statebackend.List { return newList(e, in) })
}

// Map implements statebackend.Keyed.
func (k *Keyed) Map(d statebackend.Descriptor) (statebackend.Map, error) {
	if d.Expiry == nil {
		return k.Keyed.Map(d)
	}
	return open(k, d, k.Keyed.Map, func(e *expiring, in statebackend.Map) statebackend.Map { return newMap(e, in) })
}

// stampOf returns the stamp of a stored value.
func stampOf(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }

// expired says whether something with a stamp has expired at a time.
func (e *expiring) expired(stamp, now int64) bool {
	if stamp == Unknown || now == Unknown || stamp > math.MaxInt64-e.After {
		return false
	}
	return now >= stamp+e.After
}

// hidden says whether an access must not see it.
func (e *expiring) hidden(stamp, now int64) bool { return !e.ShowExpired && e.expired(stamp, now) }

// stale says whether a read at a time has to write a stamp anew.
func (e *expiring) stale(stamp, now int64) bool {
	return now != Unknown && stamp != now && (e.OnRead || stamp == Unknown)
}

// due says whether a sweep has something to do.
func (e *expiring) due(stamp, now int64) bool {
	return now != Unknown && (stamp == Unknown || e.expired(stamp, now))
}

// with returns stamp and value, valid until the next call.
func (e *expiring) with(stamp int64, value []byte) []byte {
	e.buf = append(binary.LittleEndian.AppendUint64(e.buf[:0], uint64(stamp)), value...)
	return e.buf
}

// begin is called at the start of an access; it returns the time.
func (e *expiring) begin() int64 {
	now := e.now()
	e.sweep.step(e, now)
	return now
}
