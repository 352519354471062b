package conntest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
)

// guard is how long anything may take before a test gives up on it.
const guard = 20 * time.Second

// SourceCase describes a source to Source.
type SourceCase[T any] struct {
	// New makes a source that gives Rows, each time.
	New func(t testing.TB) connector.Source[T]
	// Rows are the rows that the source gives, in any order.
	Rows []T
	// Text tells rows apart; fmt's %+v without it.
	Text func(T) string
	// FS is the file system of the job.
	FS connector.FileSystem
	// Ordered says that a single reader gives the rows in the order of Rows.
	Ordered bool
	// Forgetful says that a source does not begin again after a restart (a Go channel): snapshots are not tested.
	Forgetful bool
	// Endless says that the source does not end after Rows, because it waits for more.
	Endless bool
}

// Source runs the conformance suite for sources: every row exactly once for several parallelisms and batch sizes, snapshots
// at any point restored into another number of readers, pausing, waiting, closing, and the rules for Poll's results.
func Source[T any](t *testing.T, c SourceCase[T]) {
	if c.Text == nil {
		c.Text = func(row T) string { return fmt.Sprintf("%+v", row) }
	}
	if ch, ok := c.New(t).(connector.Checker); ok {
		if err := ch.Check(); err != nil {
			t.Fatalf("Check: %v", err)
		}
	}
	t.Run("exactly once", c.exactlyOnce)
	t.Run("concurrently", c.concurrently)
	if !c.Forgetful {
		t.Run("snapshot and restore", c.restore)
		t.Run("killed everywhere", c.everywhere)
	}
	t.Run("pause", c.pause)
	t.Run("wait", c.wait)
	t.Run("close", c.close)
}

func (c SourceCase[T]) parallelisms(t testing.TB) []int {
	ps := []int{1, 2, 3, 4}
	if m, ok := c.New(t).(connector.MaxParallelism); ok && m.MaxParallelism() > 0 {
		ps = ps[:min(len(ps), m.MaxParallelism())]
	}
	return ps
}

// match compares what was read with what the source has.
func (c SourceCase[T]) match(t *testing.T, what string, got []T, inOrder bool) {
	t.Helper()
	texts := func(rows []T) []string {
		out := make([]string, len(rows))
		for i := range rows {
			out[i] = c.Text(rows[i])
		}
		if !inOrder {
			slices.Sort(out)
		}
		return out
	}
	have, want := texts(got), texts(c.Rows)
	if slices.Equal(have, want) {
		return
	}
	for i := range max(len(have), len(want)) {
		if i >= len(have) || i >= len(want) || have[i] != want[i] {
			t.Fatalf("%s: got %d rows, want %d; at %d the first difference: got %v, want %v", what, len(have), len(want), i,
				have[min(i, len(have)):min(i+3, len(have))], want[min(i, len(want)):min(i+3, len(want))])
		}
	}
}

func (c SourceCase[T]) exactlyOnce(t *testing.T) {
	for _, p := range c.parallelisms(t) {
		for _, batch := range []int{1, 3, 512} {
			r := c.start(t, p, nil)
			for !r.over() {
				for i := range p {
					r.step(i, batch)
				}
			}
			r.stop()
			c.match(t, fmt.Sprintf("parallelism %d, batches of %d", p, batch), r.rows, c.Ordered && p == 1)
		}
	}
}

// concurrently gives each reader a goroutine, as the engine does. It is for the race detector.
func (c SourceCase[T]) concurrently(t *testing.T) {
	if c.Endless {
		t.Skip("there is no end to wait for")
	}
	ps := c.parallelisms(t)
	p := ps[len(ps)-1]
	r := c.start(t, p, nil)
	var mu sync.Mutex // protects r and all
	var all []T
	var wg sync.WaitGroup
	for i := range p {
		wg.Go(func() {
			own := &run[T]{c: c, t: t, source: r.source, readers: r.readers[i : i+1], owned: []map[string]bool{{}}, paused: []map[string]bool{nil}}
			for more := true; !t.Failed(); {
				if len(own.owned[0]) == 0 {
					if !more {
						break
					}
					mu.Lock()
					more = r.assignTo(own, i)
					mu.Unlock()
					continue
				}
				own.step(0, 64)
			}
			mu.Lock()
			all = append(all, own.rows...)
			mu.Unlock()
		})
	}
	wg.Wait()
	r.stop()
	c.match(t, "concurrent readers", all, false)
}

// restore cuts runs at random points, throws away what came after the cut, and goes on with other readers.
func (c SourceCase[T]) restore(t *testing.T) {
	ps := c.parallelisms(t)
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := c.start(t, ps[rnd.IntN(len(ps))], nil)
		var rows []T
		for range 4 {
			r.random(rnd, rnd.IntN(2*len(c.Rows)/20+10))
			cut := r.cut(rows)
			rows = cut.rows
			r.random(rnd, rnd.IntN(5)) // is lost
			r.stop()
			r = c.start(t, ps[rnd.IntN(len(ps))], cut)
			for _, s := range cut.splits {
				r.add(rnd.IntN(len(r.readers)), s)
			}
		}
		r.before = len(rows)
		for !r.over() {
			r.random(rnd, 1)
		}
		r.stop()
		c.match(t, fmt.Sprintf("seed %d", seed), append(rows, r.rows...), false)
	}
}

// pause gives one reader several splits and pauses one of them, then all.
func (c SourceCase[T]) pause(t *testing.T) {
	r := c.start(t, 1, nil)
	for range 4 {
		r.assign(0)
	}
	var ids []string
	for id := range r.owned[0] {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		t.Fatal("the enumerator gives no split")
	}
	r.pause(0, map[string]bool{ids[0]: true})
	for range 200 {
		if r.poll(0, 3); t.Failed() || len(r.owned[0]) == 1 {
			break
		}
	}
	all := map[string]bool{}
	for id := range r.owned[0] {
		all[id] = true
	}
	r.pause(0, all)
	if st := r.poll(0, 3); st != connector.Waiting && len(all) > 0 {
		t.Errorf("all splits are paused and Poll returns status %d, want Waiting", st)
	}
	r.pause(0, nil)
	for !r.over() {
		r.step(0, 64)
	}
	r.stop()
	c.match(t, "paused for a while", r.rows, false)
}

// wait checks everything that must make Wait return.
func (c SourceCase[T]) wait(t *testing.T) {
	r := c.start(t, 1, nil)
	defer r.stop()
	reader := r.readers[0]
	waiting := func(ctx context.Context) <-chan error {
		ch := make(chan error, 1)
		go func() { ch <- reader.Wait(ctx) }()
		return ch
	}
	expect := func(what string, ch <-chan error, ended bool) {
		t.Helper()
		patience, cancel := context.WithTimeout(context.Background(), guard)
		defer cancel()
		select {
		case err := <-ch:
			if err != nil && !ended {
				t.Errorf("Wait returns %v after %s", err, what)
			}
		case <-patience.Done():
			t.Fatalf("Wait does not return after %s", what)
		}
	}
	if st := r.poll(0, 3); st != connector.Done {
		t.Errorf("a reader without splits polls as %d, want Done", st)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ch := waiting(ctx)
	cancel()
	expect("the end of its context", ch, true)

	ch = waiting(context.Background())
	r.assign(0)
	expect("AddSplit", ch, false)

	r.pause(0, map[string]bool{"no such split": true})
	if _, err := reader.Snapshot(); err != nil {
		t.Errorf("Snapshot: %v", err)
	}
	for id := range r.owned[0] {
		r.pause(0, map[string]bool{id: true})
	}
	r.poll(0, 1)
	ch = waiting(context.Background())
	r.pause(0, nil)
	expect("Pause", ch, false)

	for id := range r.owned[0] {
		r.pause(0, map[string]bool{id: true})
	}
	r.poll(0, 1)
	ch = waiting(context.Background())
	if err := reader.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	expect("Close", ch, true)
}

// close closes readers and enumerators at various moments, twice.
func (c SourceCase[T]) close(t *testing.T) {
	for steps := range 5 {
		r := c.start(t, 1, nil)
		for range steps {
			r.assign(0)
			r.poll(0, 1)
		}
		r.stop()
		r.stop()
	}
}

// start makes the source's parts, from a cut if there is one.
func (c SourceCase[T]) start(t *testing.T, p int, from *cut[T]) *run[T] {
	t.Helper()
	r := &run[T]{c: c, t: t, source: c.New(t)}
	var restored []byte
	if from != nil {
		restored = from.enumerator
	}
	ctx, clk := context.Background(), &clock{at: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
	var err error
	r.enumerator, err = r.source.Enumerator(connector.EnumeratorContext{Ctx: ctx, Parallelism: p, FS: c.FS, Now: clk.now, Log: slog.New(slog.DiscardHandler)}, restored)
	if err != nil {
		t.Fatalf("Enumerator: %v", err)
	}
	for i := range p {
		reader, err := r.source.Reader(connector.ReaderContext{Ctx: ctx, Subtask: i, Parallelism: p, FS: c.FS, Now: clk.now, NewTimer: clk.newTimer,
			Log: slog.New(slog.DiscardHandler), Bad: func(b connector.BadRecord) error { return fmt.Errorf("bad record: %+v", b) }})
		if err != nil {
			t.Fatalf("Reader: %v", err)
		}
		r.readers = append(r.readers, reader)
		r.owned = append(r.owned, map[string]bool{})
		r.paused = append(r.paused, nil)
	}
	return r
}

// clock is virtual time that passes when somebody waits for it, and a little whenever somebody looks.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time { return c.advance(time.Microsecond) }

func (c *clock) advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	return c.at
}

func (c *clock) newTimer(d time.Duration) (<-chan time.Time, func() bool) {
	fired := make(chan time.Time, 1)
	fired <- c.advance(d)
	return fired, func() bool { return false }
}
