package indexed

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/weir-stream/weir/connector"
)

// blockRows is the largest number of rows in a block.
const blockRows = 1 << 16

// Spec describes a source whose rows have numbers.
type Spec[T any] struct {
	// Label is the source's name for plans and messages.
	Label string
	// From and To bound the indices: From <= index < To.
	From, To int64
	// Endless makes the source unbounded; To is then not looked at.
	Endless bool
	// Fill sets rows to the rows with the indices from, from+step, and so on. step is 1 but for endless sources. It is
	// called by several goroutines at once.
	Fill func(rows []T, from, step int64)
	// RowsPerSecond limits the whole source; 0 is no limit.
	RowsPerSecond float64
}

// New makes the source.
func New[T any](spec Spec[T]) connector.Source[T] {
	if spec.Endless {
		spec.To = math.MaxInt64
	}
	return &source[T]{spec: spec}
}

type source[T any] struct{ spec Spec[T] }

// Name implements connector.Source.
func (s *source[T]) Name() string { return s.spec.Label }

// Boundedness implements connector.Source.
func (s *source[T]) Boundedness() connector.Boundedness {
	if s.spec.Endless {
		return connector.Unbounded
	}
	return connector.Bounded
}

// Check implements connector.Checker.
func (s *source[T]) Check() error {
	switch {
	case s.spec.Fill == nil:
		return fmt.Errorf("%s: the function that makes rows is nil", s.spec.Label)
	case s.spec.To < s.spec.From:
		return fmt.Errorf("%s: it would end at %d, before its start at %d", s.spec.Label, s.spec.To, s.spec.From)
	case s.spec.RowsPerSecond < 0 || math.IsNaN(s.spec.RowsPerSecond) || math.IsInf(s.spec.RowsPerSecond, 0):
		return fmt.Errorf("%s: %v rows a second make no sense; 0 is no limit", s.spec.Label, s.spec.RowsPerSecond)
	}
	return nil
}

// span is the indices of a split: From, From+Step, ... below To. It is also the state of a split, and of what an enumerator
// has left, as JSON.
type span struct {
	Version int   `json:"v"`
	From    int64 `json:"from"`
	To      int64 `json:"to"`
	Step    int64 `json:"step"`
	// Next is the index of the next row.
	Next int64 `json:"next"`
}

const version = 1

func (b *span) split() (connector.Split, error) {
	state, err := json.Marshal(b)
	id := strconv.FormatInt(b.From, 10) + "-" + strconv.FormatInt(b.To, 10)
	if b.Step > 1 {
		id += " by " + strconv.FormatInt(b.Step, 10)
	}
	return connector.Split{ID: id, State: state}, err
}

func parse(label string, c connector.Split, to int64) (*span, error) {
	b := new(span)
	if err := json.Unmarshal(c.State, b); err != nil {
		return nil, connector.Permanent(fmt.Errorf("%s: split %q: its state is damaged: %w", label, c.ID, err))
	}
	if b.Version != version || b.Step < 1 || b.Next < b.From || b.To < b.Next || b.To > to {
		return nil, connector.Permanent(fmt.Errorf("%s: split %q does not belong to this source or is of another version: %s", label, c.ID, c.State))
	}
	return b, nil
}

// DescribeSplit implements connector.SplitDescriber.
func (s *source[T]) DescribeSplit(_ connector.FileSystem, c connector.Split) string {
	b, err := parse(s.spec.Label, c, s.spec.To)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("index %d of split %s", b.Next, c.ID)
}

// enumerator cuts blocks off the front of what is left, or hands out the strides of an endless source: then left.Next is
// the first index of the next one, and left.Step their number.
type enumerator struct {
	block    int64
	endless  bool
	left     span
	returned []connector.Split
}

type enumeratorState struct {
	Left     span              `json:"left"`
	Returned []connector.Split `json:"returned,omitempty"`
}

// Enumerator implements connector.Source.
func (s *source[T]) Enumerator(ctx connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	e := &enumerator{block: s.block(ctx.Parallelism), endless: s.spec.Endless, left: span{Version: version, From: s.spec.From, To: s.spec.To, Next: s.spec.From, Step: 1}}
	if e.endless {
		e.left.Step = int64(max(1, ctx.Parallelism))
	}
	if restored == nil {
		return e, nil
	}
	var st enumeratorState
	if err := json.Unmarshal(restored, &st); err != nil || st.Left.Version != version {
		return nil, fmt.Errorf("%s: the state of the enumerator is damaged or of another version (%v)", s.spec.Label, err)
	}
	if st.Left.To != s.spec.To || st.Left.From != s.spec.From {
		return nil, fmt.Errorf("%s: the state belongs to rows %d to %d, and the source has %d to %d now: keep them, or start without state",
			s.spec.Label, st.Left.From, st.Left.To, s.spec.From, s.spec.To)
	}
	e.left, e.returned = st.Left, st.Returned
	return e, nil
}

// block returns the number of rows in a block: few enough that all readers get some, and a tenth of a second's at most.
func (s *source[T]) block(parallelism int) int64 {
	// The difference may exceed an int64, but not a uint64.
	n := int64(min(blockRows, (uint64(s.spec.To)-uint64(s.spec.From))/(8*uint64(max(1, parallelism)))))
	if r := s.spec.RowsPerSecond; r > 0 && r/10 < float64(n) {
		n = int64(r / 10)
	}
	return max(1, n)
}

// Next implements connector.Enumerator.
func (e *enumerator) Next(int) (c connector.Split, ok, done bool, wait time.Duration, err error) {
	if len(e.returned) > 0 {
		c, e.returned = e.returned[0], e.returned[1:]
		return c, true, false, 0, nil
	}
	b := span{Version: version, From: e.left.Next, Next: e.left.Next, To: e.left.To, Step: e.left.Step}
	switch {
	case e.endless && b.From-e.left.From < b.Step:
		e.left.Next++
	case !e.endless && b.From < b.To:
		b.To = b.From + int64(min(uint64(e.block), uint64(b.To)-uint64(b.From)))
		e.left.Next = b.To
	default:
		return c, false, true, 0, nil
	}
	c, err = b.split()
	return c, err == nil, false, 0, err
}

// Return implements connector.Enumerator.
func (e *enumerator) Return(_ int, splits []connector.Split) {
	e.returned = append(e.returned, splits...)
}

// Snapshot implements connector.Enumerator.
func (e *enumerator) Snapshot() ([]byte, error) {
	return json.Marshal(enumeratorState{Left: e.left, Returned: e.returned})
}

// Close implements connector.Enumerator.
func (e *enumerator) Close() error { return nil }

// Reader implements connector.Source.
func (s *source[T]) Reader(ctx connector.ReaderContext) (connector.Reader[T], error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	r := &reader[T]{spec: &s.spec, ctx: ctx, wake: connector.NewWake()}
	if s.spec.RowsPerSecond > 0 {
		r.bucket = &bucket{rate: s.spec.RowsPerSecond / float64(max(1, ctx.Parallelism)), last: ctx.Now(), tokens: 1}
	}
	return r, nil
}

// owned is a split of a reader.
type owned struct {
	id string
	span
}

type reader[T any] struct {
	spec   *Spec[T]
	ctx    connector.ReaderContext
	splits []*owned
	turn   int // index of the split to read next
	paused map[string]bool
	bucket *bucket // nil without a limit
	// due is how long the last Poll wants Wait to last, 0 for as long as nothing changes.
	due  time.Duration
	wake connector.Wake
}

// AddSplit implements connector.Reader.
func (r *reader[T]) AddSplit(c connector.Split) error {
	b, err := parse(r.spec.Label, c, r.spec.To)
	if err != nil {
		return err
	}
	r.splits = append(r.splits, &owned{c.ID, *b})
	r.wake.Up()
	return nil
}

// Poll implements connector.Reader.
func (r *reader[T]) Poll(b *connector.Batch[T]) (string, connector.Status, error) {
	r.due = 0
	if len(r.splits) == 0 {
		return "", connector.Done, nil
	}
	for range r.splits {
		at := r.turn % len(r.splits)
		s := r.splits[at]
		r.turn = at + 1
		if r.paused[s.id] {
			continue
		}
		left := s.To - s.Next // of a block, or far away
		if s.Step > 1 {
			left /= s.Step
		}
		n := min(int64(cap(b.Rows)-len(b.Rows)), left)
		if r.bucket != nil && n > 0 {
			if n, r.due = r.bucket.take(r.ctx.Now(), n); n == 0 {
				r.turn = at
				return "", connector.Waiting, nil
			}
		}
		have := len(b.Rows)
		b.Rows = b.Rows[:have+int(n)]
		r.spec.Fill(b.Rows[have:], s.Next, s.Step)
		if s.Next += n * s.Step; s.Next < s.To {
			return s.id, connector.More, nil
		}
		r.splits = slices.Delete(r.splits, at, at+1)
		r.turn = at
		return s.id, connector.SplitDone, nil
	}
	return "", connector.Waiting, nil
}

// Wait implements connector.Reader.
func (r *reader[T]) Wait(ctx context.Context) error {
	var fired <-chan time.Time
	if r.due > 0 {
		var stop func() bool
		fired, stop = r.ctx.NewTimer(r.due)
		defer stop()
	}
	select {
	case <-fired:
		return nil
	case <-r.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Pause implements connector.Reader.
func (r *reader[T]) Pause(splits map[string]bool) {
	r.paused = splits
	r.wake.Up()
}

// Snapshot implements connector.Reader.
func (r *reader[T]) Snapshot() ([]connector.Split, error) {
	out := make([]connector.Split, 0, len(r.splits))
	for _, s := range r.splits {
		c, err := s.split()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Close implements connector.Reader.
func (r *reader[T]) Close() error {
	r.splits = nil
	r.wake.Up()
	return nil
}

// bucket is a token bucket: a row costs a token.
type bucket struct {
	rate   float64 // tokens a second
	tokens float64
	last   time.Time
}

// take takes up to want tokens, and says how long to wait if there are too few for a batch that is worth its cost.
func (b *bucket) take(now time.Time, want int64) (n int64, wait time.Duration) {
	if d := now.Sub(b.last); d > 0 {
		b.tokens = min(b.tokens+d.Seconds()*b.rate, max(1, b.rate))
		b.last = now
	}
	// Rows come in portions of five milliseconds, or one by one if they are rarer.
	portion := min(max(1, b.rate/200), float64(want))
	if b.tokens < portion {
		return 0, max(time.Duration((portion-b.tokens)/b.rate*float64(time.Second)), time.Microsecond)
	}
	n = min(want, int64(b.tokens))
	b.tokens -= float64(n)
	return n, 0
}
