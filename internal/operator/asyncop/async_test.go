package asyncop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/operator/optest"
)

// service is what the operator calls: each call waits until the test answers it.
type service struct {
	mu    sync.Mutex
	calls map[int]chan error // by row
	most  int                // calls at once
}

func (s *service) call(ctx context.Context, v int, dst []string) ([]string, error) {
	answer := make(chan error, 1)
	s.mu.Lock()
	s.calls[v] = answer
	s.most = max(s.most, len(s.calls))
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.calls, v)
		s.mu.Unlock()
	}()
	select {
	case err := <-answer:
		return append(dst, fmt.Sprint("r", v)), err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *service) waiting() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []int
	for v := range s.calls {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

func (s *service) answer(v int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[v] <- err
}

// bench is an operator under test with its service and a mailbox for many goroutines.
type bench struct {
	*optest.Harness
	t     testing.TB
	svc   *service
	op    *asyncs[int, string]
	mu    sync.Mutex
	mails []func() error
	log   []string // results and marks in the order of emission
}

func (b *bench) Post(f func() error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mails = append(b.mails, f)
	return true
}

// settle lets every goroutine come to rest and runs the mails.
func (b *bench) settle() error {
	for {
		synctest.Wait()
		b.mu.Lock()
		mails := b.mails
		b.mails = nil
		b.mu.Unlock()
		if len(mails) == 0 {
			b.take()
			return nil
		}
		for _, f := range mails {
			if err := f(); err != nil {
				return err
			}
		}
	}
}

func (b *bench) take() {
	for _, r := range optest.Take[string](b.Harness) {
		b.log = append(b.log, fmt.Sprintf("%s@%d", r.Value, r.Time))
	}
}

func newBench(t testing.TB, cfg Config[int, string]) *bench {
	t.Helper()
	b := makeBench(t, cfg)
	b.must(b.Open())
	return b
}

// makeBench does not open the operator.
func makeBench(t testing.TB, cfg Config[int, string]) *bench {
	b := &bench{t: t, svc: &service{calls: map[int]chan error{}}}
	if cfg.Call == nil {
		cfg.Call = b.svc.call
	}
	b.op = New(cfg).(*asyncs[int, string])
	b.Harness = optest.New(b.op)
	b.Context.Mailbox = b
	b.Context.EmitWatermark = func(at int64) error {
		b.take()
		b.log = append(b.log, fmt.Sprint("watermark ", at))
		return nil
	}
	b.Context.EmitIdle = func(idle bool) error {
		b.take()
		b.log = append(b.log, fmt.Sprint("idle ", idle))
		return nil
	}
	return b
}

// restarted cuts the operator and goes on with another one. What has come out stays in the log.
func (b *bench) restarted(cfg Config[int, string]) *bench {
	s, err := b.Snapshot()
	b.must(err)
	b.must(b.op.Close())
	synctest.Wait()
	b.take()
	again := makeBench(b.t, cfg)
	again.log = b.log
	again.must(again.Restore(s))
	again.must(again.settle())
	return again
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) feed(rows ...int) {
	b.t.Helper()
	in := make([]optest.Row[int], len(rows))
	for i, v := range rows {
		in[i] = optest.At(v, int64(10*v))
	}
	b.must(optest.Feed(b.Harness, 0, nil, in...))
	b.must(b.settle())
}

func (b *bench) answer(v int, err error) error {
	b.svc.answer(v, err)
	return b.settle()
}

func (b *bench) expect(want ...string) {
	b.t.Helper()
	if !slices.Equal(b.log, want) {
		b.t.Fatalf("got %q, want %q", b.log, want)
	}
	b.log = nil
}

func (b *bench) expectCalls(want ...int) {
	b.t.Helper()
	if got := b.svc.waiting(); !slices.Equal(got, want) {
		b.t.Fatalf("calls under way for %v, want %v", got, want)
	}
}

func TestOrderedKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config[int, string]{Capacity: 3})
		b.feed(1, 2, 3, 4)
		b.expectCalls(1, 2, 3) // 4 waits
		if !b.op.Full() {
			t.Error("not full")
		}
		b.must(b.answer(3, nil))
		b.must(b.answer(2, nil))
		b.expectCalls(1) // what waits for row 1 counts against the capacity
		b.expect()
		b.must(b.answer(1, nil))
		b.expect("r1@10", "r2@20", "r3@30")
		b.expectCalls(4)
		b.must(b.Watermark(35))
		b.expect()
		b.must(b.answer(4, nil))
		b.expect("r4@40", "watermark 35")
		if b.op.UnderWay() || b.op.Full() {
			t.Error("something is under way")
		}
		b.must(b.End(1))
	})
}

func TestUnorderedStopsAtWatermarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config[int, string]{Capacity: 10, Unordered: true})
		b.feed(1, 2)
		b.must(b.Watermark(5))
		b.feed(3, 4)
		b.must(b.op.InputIdle(true))
		b.must(b.op.InputIdle(false))
		b.feed(5)
		b.must(b.answer(5, nil))
		b.must(b.answer(4, nil))
		b.must(b.answer(2, nil))
		b.expect("r2@20")
		b.must(b.answer(1, nil))
		b.expect("r1@10", "watermark 5", "r4@40")
		b.must(b.answer(3, nil))
		b.expect("r3@30", "idle true", "idle false", "r5@50")
		b.must(b.Watermark(60))
		b.expect("watermark 60")
		b.must(b.End(1))
	})
}

func TestTimeoutCoversAllAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed []string
		b := newBench(t, Config[int, string]{Capacity: 10, Timeout: 100 * time.Millisecond, Attempts: 5,
			Backoff: func(attempt int) time.Duration { return time.Duration(attempt) * 30 * time.Millisecond },
			Fallback: func(v int, err error, dst []string) ([]string, error) {
				failed = append(failed, fmt.Sprintf("%d: %v, timeout %t", v, err, errors.Is(err, ErrTimeout)))
				return append(dst, fmt.Sprint("or", v)), nil
			}})
		b.feed(1)
		b.must(b.answer(1, errors.New("busy")))
		b.expectCalls()
		b.must(b.Advance(29))
		b.must(b.settle())
		b.expectCalls()
		b.must(b.Advance(30))
		b.must(b.settle())
		b.expectCalls(1)
		b.must(b.answer(1, errors.New("busy again"))) // the next attempt would be at 90
		b.must(b.Advance(90))
		b.must(b.settle())
		b.expectCalls(1)
		b.expect()
		b.must(b.Advance(100))
		b.must(b.settle())
		b.expect("or1@10")
		b.expectCalls() // its context has ended
		want := []string{"1: asynchronous call timed out after 100ms, in attempt 3; the attempt before failed: busy again, timeout true"}
		if !slices.Equal(failed, want) {
			t.Errorf("got %q, want %q", failed, want)
		}
		b.must(b.Advance(10_000))
		b.must(b.settle())
		b.expectCalls() // what the abandoned call returned changes nothing
		b.expect()
		b.must(b.End(1))
	})
}

func TestRetriesEndWithTheAttemptsOrTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fatal := errors.New("no such user")
		b := newBench(t, Config[int, string]{Capacity: 10, Attempts: 2, RetryIf: func(err error) bool { return !errors.Is(err, fatal) }})
		b.feed(1, 7)
		b.must(b.answer(1, errors.New("busy")))
		b.must(b.Advance(0))
		b.must(b.settle())
		b.expectCalls(1, 7)
		err := b.answer(1, errors.New("still busy"))
		for _, want := range []string{"op (1/1)", "attempt 2", "still busy", "at row 1", "10 ms"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v lacks %q", err, want)
			}
		}
		err = b.answer(7, fatal)
		if !errors.Is(err, fatal) || !strings.Contains(err.Error(), "at row 7") {
			t.Errorf("got %v", err)
		}
		b.must(b.op.Close())
	})
}

func TestPanicsOfEachFunction(t *testing.T) {
	fail := errors.New("busy")
	for name, cfg := range map[string]Config[int, string]{
		"call":     {Call: func(context.Context, int, []string) ([]string, error) { panic("oops") }, Attempts: 3},
		"goexit":   {Call: func(context.Context, int, []string) ([]string, error) { runtime.Goexit(); return nil, nil }},
		"fallback": {Fallback: func(int, error, []string) ([]string, error) { panic("oops") }},
		"retryIf":  {Attempts: 2, RetryIf: func(error) bool { panic("oops") }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if cfg.Call == nil {
					cfg.Call = func(context.Context, int, []string) ([]string, error) { return nil, fail }
				}
				b := newBench(t, cfg)
				b.must(optest.Feed(b.Harness, 0, nil, optest.At(42, 7)))
				err := b.settle()
				for _, want := range []string{"op (1/1)", "panic", "at row 42"} {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error %v lacks %q", err, want)
					}
				}
				b.must(b.op.Close())
			})
		})
	}
}

// A call that ignores its context is abandoned by its row's timeout and by Close.
func TestStubbornCallsAreNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan bool)
		b := newBench(t, Config[int, string]{Capacity: 1, Timeout: 10 * time.Millisecond,
			Call:     func(context.Context, int, []string) ([]string, error) { <-stuck; return []string{"too late"}, nil },
			Fallback: func(v int, _ error, dst []string) ([]string, error) { return append(dst, fmt.Sprint("or", v)), nil }})
		b.feed(1, 2)
		b.must(b.Advance(10))
		b.must(b.settle())
		b.expect("or1@10")
		if n := b.op.running.Load(); n != 2 {
			t.Errorf("%d calls are running, want 2", n)
		}
		b.must(b.op.Close())
		close(stuck)
		b.must(b.settle())
		b.expect()
		if n := b.op.running.Load(); n != 0 {
			t.Errorf("%d calls are running at the end", n)
		}
	})
}

// What comes out is what the rows say, whatever the order of the answers and wherever it crashes and is restored; the capacity is never exceeded; a row never
// overtakes a mark, and in ordered mode no row overtakes another.
func TestRandomAnswers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		inBubble(t, func(t *testing.T) {
			capacity := rapid.IntRange(1, 5).Draw(rt, "capacity")
			unordered := rapid.Bool().Draw(rt, "unordered")
			cfg := Config[int, string]{Capacity: capacity, Unordered: unordered, Attempts: 2,
				Fallback: func(v int, _ error, dst []string) ([]string, error) { return append(dst, fmt.Sprint("or", v)), nil }}
			b := newBench(t, cfg)
			defer func() { _ = b.op.Close() }() // also when rapid gives up in between
			var want []string
			failures := map[int]int{}
			next := 1
			answerOne := func() {
				calls := b.svc.waiting()
				if len(calls) == 0 {
					return
				}
				v := rapid.SampledFrom(calls).Draw(rt, "row")
				var err error
				if failures[v] < v%3 { // rows 2, 5, 8 fail for good, rows 1, 4, 7 once
					failures[v]++
					err = errors.New("busy")
				}
				b.must(b.answer(v, err))
				b.must(b.Advance(b.Context.Now() + 1))
				b.must(b.settle())
			}
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				switch rapid.IntRange(0, 5).Draw(rt, "step") {
				case 5:
					b = b.restarted(cfg)
					clear(failures) // rows that were under way are called anew
				case 0, 1:
					if b.op.Full() {
						answerOne()
						continue
					}
					n := rapid.IntRange(1, 7).Draw(rt, "rows")
					rows := make([]int, n)
					for i := range rows {
						rows[i] = next
						result := "r"
						if next%3 == 2 {
							result = "or"
						}
						want = append(want, fmt.Sprintf("%s%d@%d", result, next, 10*next))
						next++
					}
					b.feed(rows...)
				case 2:
					if !b.op.Full() {
						b.must(b.Watermark(int64(10 * next)))
						want = append(want, fmt.Sprint("watermark ", 10*next))
						next++
					}
				default:
					answerOne()
				}
				if b.op.rows > capacity || b.svc.most > capacity {
					rt.Fatalf("%d rows and %d calls under way, capacity %d", b.op.rows, b.svc.most, capacity)
				}
			}
			for b.op.UnderWay() {
				answerOne()
			}
			b.take()
			if got, want := canonical(b.log, unordered), canonical(want, unordered); !slices.Equal(got, want) {
				rt.Fatalf("got %q, want %q", got, want)
			}
			b.must(b.op.Finish())
			b.must(b.op.Close())
		})
	})
}

// inBubble runs f in a bubble, and carries what rapid panics with out of it.
func inBubble(t *testing.T, f func(t *testing.T)) {
	var p any
	synctest.Test(t, func(t *testing.T) {
		defer func() { p = recover() }()
		f(t)
	})
	if p != nil {
		panic(p)
	}
}

// canonical brings a log into the form in which all right ones are equal.
func canonical(log []string, unordered bool) []string {
	if unordered {
		sortBetweenMarks(log)
	}
	return lastOfRuns(log)
}

func isMark(s string) bool { return strings.HasPrefix(s, "watermark") }

func sortBetweenMarks(log []string) {
	from := 0
	for i := 0; i <= len(log); i++ {
		if i == len(log) || isMark(log[i]) {
			slices.Sort(log[from:i])
			from = i + 1
		}
	}
}

// lastOfRuns keeps the last of several watermarks in a row: the operator may leave the others out.
func lastOfRuns(log []string) (out []string) {
	for i, s := range log {
		if !isMark(s) || i+1 == len(log) || !isMark(log[i+1]) {
			out = append(out, s)
		}
	}
	return out
}

func TestCloseReleasesTheBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config[int, string]{Capacity: 1})
		b.feed(1, 2, 3)
		b.must(b.op.Close())
		b.must(b.op.Close())
		synctest.Wait()
		b.expectCalls()
	})
}

// At another parallelism the rows that were under way are dealt out, and the watermark that had been reached comes behind them.
func TestRestoreAtAnotherParallelism(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config[int, string]{Capacity: 3})
		b.feed(1, 2, 3, 4, 5)
		b.must(b.Watermark(60))
		b.must(b.answer(1, nil))
		b.expect("r1@10")
		s, err := b.Snapshot()
		b.must(err)
		b.must(b.op.Close())
		synctest.Wait()
		for i, want := range [][]int{{2, 3}, {4, 5}} {
			b := makeBench(t, Config[int, string]{Capacity: 3})
			b.AsSubtask(i, 2)
			b.must(b.Restore(s))
			if !b.op.Full() {
				t.Error("other rows could come before those that are restored")
			}
			b.must(b.settle())
			b.expectCalls(want...)
			b.must(b.answer(want[0], nil))
			b.must(b.answer(want[1], nil))
			b.expect(fmt.Sprintf("r%d@%d", want[0], 10*want[0]), fmt.Sprintf("r%d@%d", want[1], 10*want[1]), "watermark 60")
			b.must(b.op.Close())
		}
	})
}
