package source_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/internal/operator/source"
)

// poll is what the fake reader answers to one Poll: rows are their own times in seconds, -1 has none.
type poll struct {
	split string
	rows  []int64
	st    connector.Status
	err   error
	bad   *connector.BadRecord
}

// fake is a source whose reader answers as the test says.
type fake struct {
	ctx    connector.ReaderContext
	polls  []poll
	splits []string
	paused []string
	panics string // the method that panics
	closed int
}

func (*fake) Name() string                       { return "fake file.txt" }
func (*fake) Boundedness() connector.Boundedness { return connector.Unbounded }
func (*fake) Enumerator(connector.EnumeratorContext, []byte) (connector.Enumerator, error) {
	return nil, errors.New("not used")
}
func (f *fake) Reader(c connector.ReaderContext) (connector.Reader[int64], error) {
	f.ctx = c
	f.trip("Reader")
	return f, nil
}

func (f *fake) trip(method string) {
	if f.panics == method {
		panic("boom in " + method)
	}
}

func (f *fake) AddSplit(s connector.Split) error {
	f.trip("AddSplit")
	f.splits = append(f.splits, s.ID)
	return nil
}

func (f *fake) Poll(b *connector.Batch[int64]) (string, connector.Status, error) {
	f.trip("Poll")
	if len(f.polls) == 0 {
		return "", connector.Waiting, nil
	}
	p := f.polls[0]
	f.polls = f.polls[1:]
	if p.bad != nil {
		if err := f.ctx.Bad(*p.bad); err != nil {
			return p.split, p.st, err
		}
	}
	b.Rows = append(b.Rows, p.rows...)
	return p.split, p.st, p.err
}

func (f *fake) Wait(context.Context) error { f.trip("Wait"); return nil }
func (f *fake) Pause(splits map[string]bool) {
	f.trip("Pause")
	f.paused = nil
	for s := range splits {
		f.paused = append(f.paused, s)
	}
	slices.Sort(f.paused)
}
func (f *fake) Snapshot() ([]connector.Split, error) { return nil, nil }
func (f *fake) Close() error {
	f.trip("Close")
	f.closed++
	return nil
}

func timeOf(v int64) time.Time {
	if v == -1 {
		return time.Time{}
	}
	return time.Unix(v, 0)
}

// run is a source in a harness.
type run struct {
	t *testing.T
	h *optest.Harness
	s operator.Source
	f *fake
}

func open(t *testing.T, opt source.Options[int64], polls ...poll) *run {
	f := &fake{polls: polls}
	if opt.Time == nil {
		opt.Time = timeOf
	}
	op := source.New[int64](f, opt)
	r := &run{t: t, h: optest.New(op), s: op.(operator.Source), f: f}
	r.must(r.h.Open())
	return r
}

func (r *run) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *run) split(last bool, ids ...string) {
	r.t.Helper()
	var add []connector.Split
	for _, id := range ids {
		add = append(add, connector.Split{ID: id})
	}
	r.must(r.s.AddSplits(add, last))
}

// step steps n times and returns the last status.
func (r *run) step(n int) (st operator.SourceStatus) {
	r.t.Helper()
	for range n {
		var err error
		st, err = r.s.Step()
		r.must(err)
	}
	return st
}

// marks returns the watermarks since the last call, in ms.
func (r *run) marks() string {
	s := fmt.Sprint(r.h.Watermarks)
	r.h.Watermarks = nil
	return s
}

// The watermark is the lowest of the splits', a millisecond and the bound behind; a split that has shown nothing holds it.
func TestWatermarksOfSplits(t *testing.T) {
	r := open(t, source.Options[int64]{OutOfOrder: 2 * time.Second},
		poll{"a", []int64{10, 12}, connector.More, nil, nil}, poll{"b", []int64{7}, connector.More, nil, nil},
		poll{"b", []int64{20}, connector.More, nil, nil}, poll{"a", nil, connector.SplitDone, nil, nil}, poll{"b", nil, connector.SplitDone, nil, nil},
		poll{"", nil, connector.Done, nil, nil})
	r.split(false, "a", "b")
	for i, want := range []string{"[]", "[4999]", "[9999]", "[17999]", "[]"} {
		r.step(1)
		if got := r.marks(); got != want {
			t.Errorf("step %d: watermarks %s, want %s", i, got, want)
		}
	}
	if st := r.step(1); st != operator.SourceBlocked || !r.s.WantSplit() || r.s.WantSplit() {
		t.Errorf("without a split: %v", st)
	}
	r.f.polls = []poll{{"", nil, connector.Done, nil, nil}}
	r.split(true)
	if st := r.step(1); st != operator.SourceFinished {
		t.Errorf("at the end: %v", st)
	}
	if got := optest.Values(optest.Take[int64](r.h)); !slices.Equal(got, []int64{10, 12, 7, 20}) {
		t.Errorf("rows %v", got)
	}
}

// With an interval, watermarks come that often while rows do, and at once when there is nothing to read.
func TestWatermarkInterval(t *testing.T) {
	f := &fake{polls: []poll{{"a", []int64{1}, connector.More, nil, nil}, {"a", []int64{2}, connector.More, nil, nil}, {"a", []int64{3}, connector.More, nil, nil}}}
	op := source.New[int64](f, source.Options[int64]{Time: timeOf})
	r := &run{t: t, h: optest.New(op), s: op.(operator.Source), f: f}
	r.h.Context.WatermarkInterval = 200 * time.Millisecond
	r.must(r.h.Open())
	r.split(false, "a")
	r.must(r.h.Advance(1000))
	r.step(1)
	r.step(1)
	if got := r.marks(); got != "[999]" {
		t.Errorf("within the interval: %s", got)
	}
	r.must(r.h.Advance(1200))
	r.step(1)
	if got := r.marks(); got != "[2999]" {
		t.Errorf("after the interval: %s", got)
	}
	f.polls = []poll{{"a", []int64{4}, connector.More, nil, nil}}
	r.step(1)
	if got := r.marks(); got != "[]" {
		t.Errorf("within the next: %s", got)
	}
	if st := r.step(1); st != operator.SourceWaiting || r.marks() != "[3999]" {
		t.Error("a source that waits keeps its watermark")
	}
}

func TestRowsWithoutTime(t *testing.T) {
	r := open(t, source.Options[int64]{}, poll{"a", []int64{1, -1, 2, 1 << 40}, connector.More, nil, nil})
	r.split(false, "a")
	r.step(1)
	if got := optest.Values(optest.Take[int64](r.h)); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("rows %v", got)
	}
	if got := optest.Values(optest.TakeSide[int64](r.h, source.NoTimeSide)); !slices.Equal(got, []int64{-1, 1 << 40}) {
		t.Errorf("rows without time %v", got)
	}
	if c := r.h.Context.Counts; c.RowsIn.Load() != 4 || c.NoTime.Load() != 2 || r.marks() != "[1999]" {
		t.Errorf("%d read, %d without time", c.RowsIn.Load(), c.NoTime.Load())
	}
}

// A silent split is idle after its time, but not while nobody takes rows.
func TestIdleSplits(t *testing.T) {
	r := open(t, source.Options[int64]{Idle: time.Second},
		poll{"a", []int64{10}, connector.More, nil, nil}, poll{"", nil, connector.Waiting, nil, nil})
	r.split(false, "a", "b")
	r.step(2)
	r.must(r.h.Advance(900))
	if r.marks() != "[]" {
		t.Error("b holds the watermark back until it is idle")
	}
	p := r.s.(operator.PressureListener)
	r.must(p.Backpressured(true))
	r.must(r.h.Advance(60_000))
	r.must(p.Backpressured(false))
	if got := r.marks(); got != "[]" || len(r.h.Idles) != 0 {
		t.Errorf("backpressure is taken for idleness: %s, %v", got, r.h.Idles)
	}
	r.must(r.h.Advance(61_000)) // both have been silent for a second now
	if got := r.marks(); got != "[9999]" || fmt.Sprint(r.h.Idles) != "[true]" {
		t.Errorf("watermarks %s, idle %v", got, r.h.Idles)
	}
	r.f.polls = []poll{{"b", []int64{12}, connector.More, nil, nil}, {"a", nil, connector.SplitDone, nil, nil}, {"b", nil, connector.SplitDone, nil, nil}, {"", nil, connector.Done, nil, nil}}
	r.step(1)
	if fmt.Sprint(r.h.Idles) != "[true false]" || r.marks() != "[11999]" {
		t.Errorf("idle %v, watermarks %v", r.h.Idles, r.h.Watermarks)
	}
}

// A source that ends while it is idle is active for the final watermark.
func TestEndOfAnIdleSource(t *testing.T) {
	r := open(t, source.Options[int64]{Idle: time.Second}, poll{"", nil, connector.Done, nil, nil}, poll{"", nil, connector.Done, nil, nil})
	r.step(1)
	r.must(r.h.Advance(2000))
	if fmt.Sprint(r.h.Idles) != "[true]" {
		t.Fatalf("idle %v", r.h.Idles)
	}
	r.split(true)
	if st := r.step(1); st != operator.SourceFinished || fmt.Sprint(r.h.Idles) != "[true false]" {
		t.Errorf("%v, idle %v", st, r.h.Idles)
	}
}

// Splits further ahead than the limit are paused; the slowest task may go on by itself up to its own limit.
func TestAlignment(t *testing.T) {
	r := open(t, source.Options[int64]{Drift: 10 * time.Second},
		poll{"a", []int64{100}, connector.More, nil, nil}, poll{"b", []int64{50}, connector.More, nil, nil})
	r.split(false, "a", "b")
	r.step(2)
	r.must(r.s.AlignTo(60_000, event.NoTime))
	if !slices.Equal(r.f.paused, []string{"a"}) {
		t.Errorf("paused %v, want a", r.f.paused)
	}
	if low, blocked := r.s.Progress(); low != 49_999 || blocked {
		t.Errorf("progress %d, %v", low, blocked)
	}
	r.must(r.s.AlignTo(40_000, event.NoTime))
	if st := r.step(1); st != operator.SourceBlocked || !slices.Equal(r.f.paused, []string{"a", "b"}) {
		t.Errorf("%v, paused %v", st, r.f.paused)
	}
	if _, blocked := r.s.Progress(); !blocked {
		t.Error("not blocked")
	}
	r.must(r.s.AlignTo(40_000, 55_000)) // the slowest: 49.999 + 10 s, but not beyond 55 s
	if !slices.Equal(r.f.paused, []string{"a"}) {
		t.Errorf("paused %v, want a", r.f.paused)
	}
	r.must(r.s.AlignTo(event.MaxTime, event.NoTime))
	if len(r.f.paused) != 0 {
		t.Errorf("paused %v", r.f.paused)
	}
}

// A split whose first batch is its last is paused by its own rows and then gone: it must not count among those that wait.
func TestAlignmentOfASplitThatEndsWhilePaused(t *testing.T) {
	r := open(t, source.Options[int64]{Drift: 10 * time.Second},
		poll{"a", []int64{1}, connector.More, nil, nil}, poll{"b", []int64{100}, connector.SplitDone, nil, nil},
		poll{"a", []int64{2}, connector.More, nil, nil})
	r.split(true, "a", "b")
	r.step(2)
	r.must(r.s.AlignTo(20_000, event.NoTime))
	if _, blocked := r.s.Progress(); blocked {
		t.Error("a may be read, but the source is blocked")
	}
	if st := r.step(1); st != operator.SourceReady {
		t.Errorf("%v, want a to be read", st)
	}
}

func TestBadRecords(t *testing.T) {
	bad := &connector.BadRecord{Where: "x.csv", Line: 7, Column: 3, Field: "delay", Value: "abc", Want: "a whole number", Raw: []byte("1,abc"), Cause: "no digits"}
	one := poll{"a", []int64{1}, connector.More, nil, bad}
	const text = `x.csv:7:3: field delay: "abc", expected a whole number: no digits`
	t.Run("fail", func(t *testing.T) {
		r := open(t, source.Options[int64]{}, one)
		r.split(false, "a")
		if _, err := r.s.Step(); errs.CodeOf(err) != errs.CodeRecordDecode || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v", err)
		}
	})
	for policy, name := range map[source.Policy]string{source.Skip: "skip", source.Quarantine: "quarantine"} {
		t.Run(name, func(t *testing.T) {
			r := open(t, source.Options[int64]{Bad: policy, BadMax: 2}, one, one, one)
			r.split(false, "a")
			r.step(2)
			bad.Raw[0] = '9' // the record's bytes are the reader's
			if _, err := r.s.Step(); errs.CodeOf(err) != errs.CodeRecordDecode || !strings.Contains(err.Error(), "more than 2 records") || !strings.Contains(err.Error(), text) {
				t.Errorf("got %v", err)
			}
			bad.Raw[0] = '1'
			side := optest.TakeSide[connector.BadRecord](r.h, source.BadSide)
			if policy == source.Skip {
				if len(side) != 0 {
					t.Errorf("%d records", len(side))
				}
			} else if len(side) != 2 || string(side[0].Value.Raw) != "1,abc" || side[0].Value.Line != 7 {
				t.Errorf("records %+v", side)
			}
			if r.h.Context.Counts.Bad.Load() != 3 {
				t.Errorf("counted %d", r.h.Context.Counts.Bad.Load())
			}
		})
	}
}

// Errors of the connector name it and the operator.
func TestErrors(t *testing.T) {
	cause := errors.New("disk gone")
	r := open(t, source.Options[int64]{}, poll{"a", nil, connector.More, cause, nil})
	r.split(false, "a")
	_, err := r.s.Step()
	if !errors.Is(err, cause) || errs.CodeOf(err) != errs.CodeSource || !strings.Contains(err.Error(), "fake file.txt") || !strings.Contains(err.Error(), "op (1/1)") {
		t.Errorf("got %v", err)
	}
	r = open(t, source.Options[int64]{Time: func(v int64) time.Time {
		if v == 3 {
			panic("no time")
		}
		return time.Unix(v, 0)
	}}, poll{"a", []int64{1, 2, 3}, connector.More, nil, nil})
	r.split(false, "a")
	if _, err := r.s.Step(); errs.CodeOf(err) != errs.CodeUserPanic || !strings.Contains(err.Error(), "row 3") {
		t.Errorf("got %v", err)
	}
	r = open(t, source.Options[int64]{})
	r.f.panics = "Poll"
	if _, err := r.s.Step(); errs.CodeOf(err) != errs.CodeUserPanic || !strings.Contains(err.Error(), "boom in Poll") {
		t.Errorf("got %v", err)
	}
}

// A Wait that comes only after Close does not meet a reader that is gone, and a second Close does nothing.
func TestWaitAfterClose(t *testing.T) {
	r := open(t, source.Options[int64]{})
	r.must(r.h.Op.Close())
	r.must(r.h.Op.Close())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r.must(r.s.Wait(ctx))
	if r.f.closed != 1 {
		t.Errorf("closed %d times", r.f.closed)
	}
}
