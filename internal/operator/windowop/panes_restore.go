package windowop

import (
	"encoding/binary"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/window"
)

// The tables of panes are one state: an accumulator by key, with the pane as the namespace. What the slider has combined is
// not saved, since it is made anew from the panes.
//
// No key has a timer that says which windows have fired: the operator's time does. Subtasks may be at different times when they
// are cut (the clock rings in one before the other; an unaligned barrier overtakes watermarks), so each saves how far it is, and
// a subtask that gets the keys of several goes on at the earliest of their times and remembers which key groups are ahead.

const (
	panesState = "windows/panes"
	timesBlob  = "windows/times"
)

// reached is how far the windows of some key groups are.
type reached struct {
	groups keygroup.Range
	time   int64
}

// restorable registers the panes as keyed state.
func (o *panes[K, T, A, R, U]) restorable(c *codec.Codec[A]) error {
	values, err := codec.ValuesOf[A]()
	if err != nil {
		return err
	}
	width := 0
	if o.accs == nil {
		width, _ = c.Fixed()
	}
	o.ctx.AddKeyed(operator.KeyedPart{
		State: snapshot.State{Name: panesState, Kind: snapshot.KindValue, Width: width, NamespaceWidth: len(namespace{}),
			Schema: codec.Table{Value: values.Schema, Namespace: Spaces(o.cfg.Window) + ", " + o.grid.Ruler()}.Append(nil)},
		Values: values, Cut: o.cut, Load: o.load,
	})
	return o.restoreTimes()
}

// restoreTimes sets how far the windows of the subtask's keys are.
func (o *panes[K, T, A, R, U]) restoreTimes() error {
	o.time = event.NoTime
	if !o.processing {
		o.time = o.ctx.WatermarkThen()
	}
	own := keygroup.RangeOf(o.ctx.Subtask, o.ctx.Parallelism)
	first := true
	for _, b := range o.ctx.Restored.Union(timesBlob) {
		for i := 0; len(b) > 0; i++ {
			if len(b) < 12 {
				return errs.New(errs.CodeCorrupt, errs.ClassFailJob, o.ctx.Place(), "the times of its windows in the checkpoint are damaged")
			}
			r := reached{keygroup.Range{From: keygroup.Group(binary.LittleEndian.Uint16(b)), To: keygroup.Group(binary.LittleEndian.Uint16(b[2:]))},
				int64(binary.LittleEndian.Uint64(b[4:]))}
			b = b[12:]
			if r.groups = r.groups.Intersect(own); r.groups.Len() == 0 {
				continue
			}
			o.ahead = append(o.ahead, r)
			if i == 0 && (first || r.time < o.time) { // the time of the subtask; more follow for groups that are ahead of it
				o.time, first = r.time, false
			}
		}
	}
	o.catchUp()
	return nil
}

// catchUp forgets the groups that are not ahead any more.
func (o *panes[K, T, A, R, U]) catchUp() {
	n := 0
	for _, r := range o.ahead {
		if r.time > o.time {
			o.ahead[n] = r
			n++
		}
	}
	o.ahead = o.ahead[:n]
}

// aheadOf returns how far the windows of a key were if they are ahead of the others, else event.NoTime.
func (o *panes[K, T, A, R, U]) aheadOf(hash uint64) int64 {
	t := event.NoTime
	for i := range o.ahead {
		if o.ahead[i].groups.ContainsHash(hash) {
			t = max(t, o.ahead[i].time)
		}
	}
	return t
}

// Snapshot implements operator.Snapshotter.
func (o *panes[K, T, A, R, U]) Snapshot(cut *operator.Cut) error {
	var b []byte
	for _, r := range append([]reached{{keygroup.RangeOf(o.ctx.Subtask, o.ctx.Parallelism), o.time}}, o.ahead...) {
		b = binary.LittleEndian.AppendUint16(b, uint16(r.groups.From))
		b = binary.LittleEndian.AppendUint16(b, uint16(r.groups.To))
		b = binary.LittleEndian.AppendUint64(b, uint64(r.time))
	}
	cut.Blob(timesBlob, o.ctx.Subtask, b)
	return nil
}

// AfterRestore implements operator.Restorer: windows on the clock whose end has gone by meanwhile fire at once.
func (o *panes[K, T, A, R, U]) AfterRestore() error { return o.arm() }

// frozenPanes is the panes at a cut.
type frozenPanes []frozenPane

type frozenPane struct {
	ns    namespace
	table *paged.FrozenTable
}

// Each implements statebackend.Frozen.
func (f frozenPanes) Each(groups keygroup.Range, visit statebackend.Visit) {
	more := true
	for i := range f {
		f[i].table.Each(groups, func(hash uint64, key, value []byte) bool {
			more = visit(statebackend.Key{Hash: hash, Bytes: key}, f[i].ns[:], nil, value)
			return more
		})
		if !more {
			return
		}
	}
}

// Release implements statebackend.Frozen.
func (f frozenPanes) Release() {
	for i := range f {
		f[i].table.Release()
	}
}

func (o *panes[K, T, A, R, U]) cut() (statebackend.Frozen, error) {
	f := make(frozenPanes, 0, len(o.live))
	for _, p := range o.live {
		if p.accs.Len() > 0 {
			f = append(f, frozenPane{namespaceOf(p.span), p.accs.Cut()})
		}
	}
	return f, nil
}

// load takes an accumulator of an earlier run.
func (o *panes[K, T, A, R, U]) load(e *snapshot.Entry) error {
	if len(e.Namespace) != len(namespace{}) || o.keys.width > 0 && len(e.Key) != o.keys.width {
		return o.corrupt("a pane of %d bytes with a key of %d bytes", len(e.Namespace), len(e.Key))
	}
	span := windowOf(e.Namespace)
	if o.loading == nil || o.loading.span != span {
		o.windows = o.grid.WindowsOfPane(o.windows[:0], span)
		if o.cursor.Pane(span.Start) != span || len(o.windows) == 0 {
			return errs.New(errs.CodeSchema, errs.ClassUser, o.ctx.Place(),
				"the checkpoint has rows of %s, which is none of the panes that the windows have now, %s: take the former size, slide and offset back, or give the operator another uid, which drops its state",
				span, o.cfg.Window.Text)
		}
		o.loading = o.paneAt(span, o.windows[len(o.windows)-1])
	}
	t := &o.loading.accs
	if o.accs != nil {
		t.PutBytes(e.Hash, e.Key, e.Value)
		return nil
	}
	if len(e.Value) != t.width() {
		return o.corrupt("an accumulator of %d bytes, which should have %d", len(e.Value), t.width())
	}
	p, _ := t.Upsert(e.Hash, e.Key)
	copy(unsafe.Slice((*byte)(p), t.width()), e.Value)
	return nil
}

func (o *panes[K, T, A, R, U]) corrupt(text string, args ...any) error {
	return errs.New(errs.CodeCorrupt, errs.ClassFailJob, o.ctx.Place(), "the checkpoint is damaged: "+text, args...)
}

// takeAhead adds rows one by one while keys are at different times.
func (o *panes[K, T, A, R, U]) takeAhead(in *event.Records[T], t *touch[A], keys []K, row *int) error {
	s := &o.in
	windows := o.grid.WindowsOfPane(nil, t.span)
	for j, i := range t.rows {
		*row = int(i)
		now := max(o.time, o.aheadOf(s.hashes[j]))
		if o.cfg.Window.Late(windows[len(windows)-1], now) {
			if err := o.late.Take(in.Rows[i], in.Times[i], now); err != nil {
				return err
			}
			continue
		}
		s.buf = o.cfg.Keys.Append(s.buf[:0], &keys[j])
		if err := o.add(t, s.hashes[j], s.buf, &in.Rows[i]); err != nil {
			return err
		}
		for _, w := range windows {
			if w.MaxTimestamp() > now || o.cfg.Window.Late(w, now) {
				continue
			}
			if err := o.refire(w, keys[j], s.hashes[j], s.buf); err != nil {
				return err
			}
		}
	}
	return nil
}

// fireBehind emits a window for the keys that have not come as far yet.
func (o *panes[K, T, A, R, U]) fireBehind(w window.Window, in []*pane[A]) error {
	return o.merging(in, func(hash uint64, key []byte, acc *A) error {
		if o.aheadOf(hash) >= w.MaxTimestamp() {
			return nil
		}
		return o.emit(key, w, acc)
	})
}
