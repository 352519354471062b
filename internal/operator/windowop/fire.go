package windowop

import (
	"slices"

	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/window"
)

// advance moves the windows' time to t: windows that end on the way fire, in the order of their ends, and panes that are
// over are forgotten.
func (o *panes[K, T, A, R, U]) advance(t int64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = operator.UserError(o.ctx, p, nil, func() string { return keyPlace(o.cfg.Keys, o.firingKey, o.firing) })
		}
	}()
	if t <= o.time {
		return nil // keys of another subtask had not come as far
	}
	after := o.time
	o.time = t
	for len(o.live) > 0 {
		w, ok := o.grid.NextEnding(after)
		if !ok || w.MaxTimestamp() > t {
			break
		}
		in := o.panesOf(w)
		if len(in) > 0 {
			if err := o.fire(w, in); err != nil {
				return err
			}
			after = w.MaxTimestamp()
			o.forget(after)
			continue
		}
		next, ok := o.firstFrom(w.Start)
		if !ok {
			break // what is live has fired already and waits for late rows
		}
		// No rows until then: go there at once, however many windows lie between.
		after = max(w.MaxTimestamp(), next.span.Start-1)
	}
	o.forget(t)
	o.catchUp()
	return nil
}

// firstFrom returns the first live pane that does not end before start.
func (o *panes[K, T, A, R, U]) firstFrom(start int64) (*pane[A], bool) {
	i, _ := slices.BinarySearchFunc(o.live, start, func(p *pane[A], start int64) int { return compare(p.span.Start, start) })
	if i == len(o.live) {
		return nil, false
	}
	return o.live[i], true
}

// panesOf returns the live panes of a window.
func (o *panes[K, T, A, R, U]) panesOf(w window.Window) []*pane[A] {
	by := func(p *pane[A], start int64) int { return compare(p.span.Start, start) }
	from, _ := slices.BinarySearchFunc(o.live, w.Start, by)
	to, _ := slices.BinarySearchFunc(o.live, w.End, by)
	return o.live[from:to]
}

// forget drops the panes whose last window is over.
func (o *panes[K, T, A, R, U]) forget(t int64) {
	n := 0
	for n < len(o.live) && o.live[n].over <= t {
		o.slices.drop(o.live[n])
		o.recycle(o.live[n].accs)
		n++
	}
	if n > 0 {
		o.live = slices.Delete(o.live, 0, n)
	}
}

// fire emits the results of a window.
func (o *panes[K, T, A, R, U]) fire(w window.Window, in []*pane[A]) error {
	o.firing = w
	switch {
	case len(o.ahead) > 0:
		return o.fireBehind(w, in)
	case len(in) == 1:
		return in[0].accs.each(func(_ uint64, key []byte, acc *A) error { return o.emit(key, w, acc) })
	case o.slices != nil:
		return o.slices.fire(w, in)
	}
	return o.merging(in, func(_ uint64, key []byte, acc *A) error { return o.emit(key, w, acc) })
}

// merging combines the panes of a window in a scratch table and calls f for every key.
func (o *panes[K, T, A, R, U]) merging(in []*pane[A], f func(hash uint64, key []byte, acc *A) error) error {
	if o.merged == nil {
		t := o.newTable()
		o.merged = &t
	}
	for _, p := range in {
		if err := o.mergeInto(o.merged, &p.accs); err != nil {
			return err
		}
	}
	err := o.merged.each(f)
	o.merged.Reset()
	return err
}

// mergeInto adds every accumulator of from to that of the same key in to.
func (o *panes[K, T, A, R, U]) mergeInto(to, from *accumulators[A]) error {
	merge := o.cfg.Aggregate.Merge
	return from.each(func(hash uint64, key []byte, acc *A) error {
		if to.codec == nil {
			p, _ := to.Upsert(hash, key)
			merge((*A)(p), acc)
			return nil
		}
		return to.update(hash, key, func(sum *A) { merge(sum, acc) })
	})
}

// emit sends a result.
func (o *panes[K, T, A, R, U]) emit(enc []byte, w window.Window, acc *A) error {
	var key K
	if err := o.keys.read(enc, &key); err != nil {
		return err
	}
	o.firingKey = enc
	o.acc = *acc // Result may change it, and a table must know of changes
	r := o.cfg.Aggregate.Result(&o.acc)
	o.firingKey = nil
	return o.em.Emit(o.cfg.Make(key, w, r), w.MaxTimestamp())
}

// merge implements sliderHost.
func (o *panes[K, T, A, R, U]) merge(acc, from *A) { o.cfg.Aggregate.Merge(acc, from) }
