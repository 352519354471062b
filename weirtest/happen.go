package weirtest

import (
	"context"
	"sync"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/objstore"
)

// happen lets the faults of the schedule happen, each at its time.
func (d *disturbance) happen(over <-chan struct{}) {
	began := clock.Real{}.Now()
	var asks sync.WaitGroup
	defer asks.Wait()
	for _, f := range d.faults {
		timer := clock.Real{}.NewTimer(f.at - clock.Real{}.Since(began))
		select {
		case <-over:
			timer.Stop()
			return
		case <-timer.C():
		}
		if f.kind == damage {
			d.spoil(f)
			continue
		}
		d.mu.Lock()
		switch f.kind {
		case failTask:
			d.failures++
			err := errs.New(errs.CodeUserFunction, errs.ClassFailTask, "weirtest", "injected failure %d", d.failures)
			for i := range d.tasks { // one that still lives
				if d.tasks[(f.pick+i)%len(d.tasks)](err) {
					break
				}
			}
		case powerCut:
			d.cut(f)
		case stop, save, drain:
			asks.Go(func() { d.ask(f, over) })
		case twice:
			d.twice += f.pick
		default:
			d.storage = append(d.storage, f)
		}
		d.mu.Unlock()
	}
}

// cut takes the power from the present life. What its files hold that is not synced is lost. The caller holds mu.
func (d *disturbance) cut(f fault) {
	if d.now == nil {
		return
	}
	d.parallelism = f.parallelism
	d.now.end()
	if d.files != nil {
		d.files = d.files.CrashClone()
	}
}

// ask asks for a savepoint, in this life or a later one, until there is one.
func (d *disturbance) ask(f fault, over <-chan struct{}) {
	for range limitOfAsking {
		d.mu.Lock()
		l := d.now
		asking := l != nil && l.job != nil
		d.draining = d.draining || asking && f.kind == drain
		if asking {
			l.asks.Add(1)
		}
		d.mu.Unlock()
		if asking {
			done := d.askOnce(l, f)
			l.asks.Done()
			if done {
				return
			}
		}
		timer := clock.Real{}.NewTimer(askAgain)
		select {
		case <-over:
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

// askOnce asks the job of a life for a savepoint, and reports whether it took one.
func (d *disturbance) askOnce(l *life, f fault) bool {
	var path string
	var err error
	switch f.kind {
	case save:
		path, err = l.job.Savepoint(l.ctx, "")
	case stop:
		path, err = l.job.Stop(l.ctx, "")
	case drain:
		path, err = l.job.Drain(l.ctx, "")
	}
	if err != nil {
		return false
	}
	at := d.places.moment(l.dir, path)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.saved = append(d.saved, saved{path: path, by: f, at: at, claimed: f.kind == stop && f.claim})
	if f.kind != save {
		l.path, l.by = path, f
	}
	return true
}

// request says what becomes of a request to the storage.
func (d *disturbance) request(l *life) func(objstore.Op) objstore.Fault {
	return func(op objstore.Op) objstore.Fault {
		if l.dead() {
			return objstore.Fault{Err: errs.Wrap(errDead, errs.CodeCanceled, errs.ClassCanceled, "weirtest", "")}
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.storage) == 0 {
			return objstore.Fault{}
		}
		f := &d.storage[0]
		kind, slow := f.kind, f.slow
		if f.pick--; f.pick <= 0 || kind == storeForgets || kind == storeTears {
			d.storage = d.storage[1:]
		}
		switch kind {
		case storeRefuses:
			return objstore.Unavailable()
		case storeForgets:
			return objstore.LostAnswer()
		case storeFull:
			return objstore.NoSpace()
		case storeTears:
			return objstore.Fault{Torn: 7}
		case storeWaits:
			return objstore.Fault{Wait: func(ctx context.Context) error { return clock.Real{}.Sleep(ctx, slow) }}
		}
		return objstore.Fault{}
	}
}
