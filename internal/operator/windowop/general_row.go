package windowop

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/window"
)

// rows takes the rows of a batch one by one: each may fire.
func (o *general[K, T, U]) rows(in *event.Records[T]) (err error) {
	row := 0
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = o.failure(p, err, operator.RowText(in.Rows[row], in.Times[row]))
		}
	}()
	for row = range in.Rows {
		ts := in.Times[row]
		if o.bound.Domain == window.ProcessingTime {
			ts = o.now
		} else if ts == event.NoTime && (o.bound.Grid != nil || o.bound.Merging()) {
			return errRowWithoutTime(o.ctx)
		}
		if err = o.row(&in.Rows[row], ts, in.Hash[row]); err != nil {
			return err
		}
	}
	o.doing = ""
	return nil
}

func errRowWithoutTime(ctx *operator.Context) error {
	return errs.New(errs.CodeRecordTimestamp, errs.ClassFailJob, ctx.Place(),
		"a row without event time reached an event-time window: give the source the option weir.EventTime, or use .ProcessingTime() windows")
}

func (o *general[K, T, U]) row(row *T, ts int64, hash uint64) error {
	o.doing, o.window = "the key function", window.Window{}
	o.rowKey = o.cfg.Key(*row)
	o.keyBuf = o.cfg.Keys.Append(o.keyBuf[:0], &o.rowKey)
	o.key.Hash, o.key.Bytes = hash, o.keyBuf
	o.doing = "the gap function"
	var err error
	if o.windows, err = o.bound.Assign(o.windows[:0], *row, ts); err != nil {
		return err
	}
	taken := false
	for _, w := range o.windows {
		ok, err := o.element(row, ts, w)
		if err != nil {
			return err
		}
		taken = taken || ok
	}
	if !taken && o.bound.LateRow(ts, o.watermark) {
		return o.late.Take(*row, ts, o.watermark)
	}
	return nil
}

// element adds a row to one of its windows. ok is false if the window is over.
func (o *general[K, T, U]) element(row *T, ts int64, w window.Window) (ok bool, err error) {
	home := w
	if o.sessions != nil {
		s, ok, err := o.join(w)
		if !ok || err != nil {
			return false, err
		}
		w, home = s.Window, homeOf(s)
	} else if o.bound.Late(w, o.watermark) {
		return false, nil
	}
	o.window = w
	fresh, err := o.content.add(o.key, home, row, ts)
	if err != nil {
		return false, err
	}
	if o.plain {
		return true, o.act(w, home, o.plainElement(w, fresh))
	}
	o.doing = "the trigger's OnElement"
	o.trig.enter(w)
	r := o.rules.trigger.OnElement(*row, ts, w, &o.trig)
	o.trig.leave()
	if err := o.act(w, home, r); err != nil {
		return false, err
	}
	if at := o.bound.CleanupTime(w); at != event.MaxTime && !o.trig.has(o.bound.Domain, at) {
		o.register(o.bound.Domain, w, at)
	}
	return true, nil
}

// homeOf is where a session's content is kept, as a namespace.
func homeOf(s window.LiveSession) window.Window { return window.Window{Start: s.Home} }

// join puts the window of a row into the sessions of its key. ok is false if the row is late, and opened no session.
func (o *general[K, T, U]) join(w window.Window) (s window.LiveSession, ok bool, err error) {
	o.loadSessions()
	m := &o.merge
	o.live.Add(w, m)
	if m.Opened && o.bound.Late(m.Into.Window, o.watermark) {
		return s, false, nil
	}
	if m.Opened || len(m.Old) > 0 {
		o.storeSessions()
	}
	if o.plain && (m.Opened || len(m.Old) > 0 && o.isOver(m.Old[0].Window)) {
		o.planSession(m.Into, o.watermarkOrNone())
	}
	if len(m.Old) == 0 {
		return m.Into, true, nil
	}
	if !o.plain {
		o.replaceTriggers(m)
	}
	o.window = m.Into.Window
	for _, old := range m.Old {
		if old.Home != m.Into.Home {
			if err := o.content.merge(o.key, homeOf(m.Into), homeOf(old)); err != nil {
				return s, false, err
			}
		}
	}
	return m.Into, true, nil
}

// replaceTriggers carries over the trigger's memory and timers of the sessions that m.Into replaces.
func (o *general[K, T, U]) replaceTriggers(m *window.Merge) {
	into := m.Into.Window
	o.from, o.fromPtr = o.from[:0], o.fromPtr[:0]
	for _, old := range m.Old {
		o.trig.enter(old.Window)
		o.from = append(o.from, *o.trig.State())
	}
	for i := range o.from {
		o.fromPtr = append(o.fromPtr, &o.from[i])
	}
	o.doing, o.window = "the trigger's OnMerge", into
	o.trig.enter(into)
	o.rules.merging.OnMerge(into, o.fromPtr, &o.trig)
	o.trig.leave()
	for _, old := range m.Old {
		o.retire(old.Window)
		o.unregister(o.bound.Domain, old.Window, o.bound.CleanupTime(old.Window))
	}
}

// retire drops what the trigger has for a window.
func (o *general[K, T, U]) retire(w window.Window) {
	o.doing, o.window = "the trigger's Clear", w
	o.trig.enter(w)
	o.rules.trigger.Clear(w, &o.trig)
	o.trig.drop()
}

// sessionBytes is the size of a live session in the state: start, end and home, 8 bytes each, little endian.
const sessionBytes = 24

func (o *general[K, T, U]) loadSessions() {
	o.live.Live = o.live.Live[:0]
	b, _ := o.sessions.Get(o.key, nil)
	for ; len(b) >= sessionBytes; b = b[sessionBytes:] {
		word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
		o.live.Live = append(o.live.Live, window.LiveSession{Window: window.Window{Start: word(0), End: word(1)}, Home: word(2)})
	}
}

func (o *general[K, T, U]) storeSessions() {
	if len(o.live.Live) == 0 {
		o.sessions.Clear(o.key, nil)
		return
	}
	b := o.encoded[:0]
	for _, s := range o.live.Live {
		for _, v := range [...]int64{s.Window.Start, s.Window.End, s.Home} {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
	}
	o.encoded = b
	o.sessions.Put(o.key, nil, b)
}
