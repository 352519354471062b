package indexed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/connector/sequence"
	"github.com/weir-stream/weir/connector/slice"
)

// On virtual time, p readers of a limited source give rate rows a second together, whatever the rate.
func TestRate(t *testing.T) {
	for _, rate := range []float64{0.5, 7, 1000, 1e6} {
		for _, p := range []int{1, 3} {
			now := time.Unix(1000, 0)
			src := generator.Of(func(i int64) int64 { return i }, generator.RowsPerSecond(rate))
			e, err := src.Enumerator(connector.EnumeratorContext{Parallelism: p}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var readers []connector.Reader[int64]
			for i := range p {
				r, err := src.Reader(connector.ReaderContext{Subtask: i, Parallelism: p, Now: func() time.Time { return now }})
				if err != nil {
					t.Fatal(err)
				}
				readers = append(readers, r)
			}
			rows, seconds := 0, 60
			if rate > 1e5 {
				seconds = 3
			}
			for range seconds * 1000 {
				for i, r := range readers {
					for st := connector.More; st != connector.Waiting; {
						b := connector.Batch[int64]{Rows: make([]int64, 0, 400)}
						_, st, err = r.Poll(&b)
						if err != nil {
							t.Fatal(err)
						}
						rows += len(b.Rows)
						if st == connector.Done {
							s, _, _, _, err := e.Next(i)
							if err != nil {
								t.Fatal(err)
							}
							if err := r.AddSplit(s); err != nil {
								t.Fatal(err)
							}
						}
					}
				}
				now = now.Add(time.Millisecond)
			}
			// Each reader may begin with one row, and end with a portion of 5 ms in hand.
			want := rate * float64(seconds)
			if slack := float64(p) * (2 + rate/100); float64(rows) < want-slack || float64(rows) > want+slack {
				t.Errorf("rate %v, %d readers: %d rows in %d s", rate, p, rows, seconds)
			}
		}
	}
}

func TestWaitLastsUntilTheNextRow(t *testing.T) {
	now := time.Unix(1000, 0)
	src := generator.Of(func(i int64) int64 { return i }, generator.RowsPerSecond(0.5))
	var asked time.Duration
	r, err := src.Reader(connector.ReaderContext{Parallelism: 1, Now: func() time.Time { return now }, NewTimer: func(d time.Duration) (<-chan time.Time, func() bool) {
		asked = d
		c := make(chan time.Time, 1)
		c <- now
		return c, func() bool { return true }
	}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := src.Enumerator(connector.EnumeratorContext{Parallelism: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, _, _, _, _ := e.Next(0)
	if err := r.AddSplit(s); err != nil {
		t.Fatal(err)
	}
	for i, want := range []connector.Status{connector.More, connector.Waiting} {
		b := connector.Batch[int64]{Rows: make([]int64, 0, 4)}
		if _, st, err := r.Poll(&b); st != want || len(b.Rows) != 1-i || err != nil {
			t.Fatalf("poll %d: %d rows, status %d, %v", i, len(b.Rows), st, err)
		}
	}
	for asked == 0 { // the first calls find the token of AddSplit
		if err := r.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 2*time.Second {
		t.Errorf("Wait lasts %v, want 2s", asked)
	}
}

func TestCheckAndStates(t *testing.T) {
	for _, c := range []struct {
		src  connector.Source[int64]
		want string
	}{
		{generator.Of[int64](nil), "nil"},
		{generator.Of(func(i int64) int64 { return i }, generator.Count(-1)), "before its start"},
		{generator.Of(func(i int64) int64 { return i }, generator.RowsPerSecond(-1)), "rows a second"},
	} {
		if err := c.src.(connector.Checker).Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q in it", err, c.want)
		}
	}
	if sequence.Of(5, 4).(connector.Checker).Check() != nil || sequence.Of(-1<<63, 1<<63-1).Boundedness() != connector.Bounded {
		t.Error("an empty or a full sequence is refused")
	}
	// The blocks of a sequence of almost all numbers do not overflow.
	full, err := sequence.Of(-1<<63, 1<<63-1).Enumerator(connector.EnumeratorContext{Parallelism: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		if s, ok, _, _, _ := full.Next(0); !ok || s.ID != fmt.Sprintf("%d-%d", -1<<63+i<<16, -1<<63+(i+1)<<16) {
			t.Errorf("block %d is %q", i, s.ID)
		}
	}
	old, err := slice.Of(1, 2, 3).Enumerator(connector.EnumeratorContext{Parallelism: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	state, err := old.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slice.Of(1, 2).Enumerator(connector.EnumeratorContext{Parallelism: 1}, state); err == nil || !strings.Contains(err.Error(), "rows 0 to 3") {
		t.Errorf("a shorter slice takes the state: %v", err)
	}
	r, err := slice.Of(1, 2).Reader(connector.ReaderContext{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"", "{}", `{"v":1,"from":0,"to":3,"next":0,"step":1}`, `{"v":2,"from":0,"to":1,"next":0,"step":1}`, `{"v":1,"from":0,"to":1,"next":5,"step":1}`, `{"v":1,"from":0,"to":1,"next":0,"step":0}`} {
		if err := r.AddSplit(connector.Split{ID: "x", State: []byte(state)}); err == nil {
			t.Errorf("state %q is taken", state)
		}
	}
	if got := fmt.Sprint(slice.Of(1, 2).Name(), ", ", sequence.Of(1, 9).Name()); got != "slice of 2 rows, sequence 1 to 9" {
		t.Error(got)
	}
}

// An endless source has as many splits as readers, which take the indices in turn, also after a restart with fewer.
func TestEndless(t *testing.T) {
	src := generator.Of(func(i int64) int64 { return i })
	e, err := src.Enumerator(connector.EnumeratorContext{Parallelism: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _, _, _ := e.Next(0)
	state, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if e, err = src.Enumerator(connector.EnumeratorContext{Parallelism: 1}, state); err != nil {
		t.Fatal(err)
	}
	r, err := src.Reader(connector.ReaderContext{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	splits := []connector.Split{first}
	for {
		s, ok, done, _, err := e.Next(0)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			break
		}
		if ok {
			splits = append(splits, s)
		}
	}
	seen := map[int64]int{}
	for _, s := range splits {
		if err := r.AddSplit(s); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 * 10 {
		b := connector.Batch[int64]{Rows: make([]int64, 0, 10)}
		if _, st, err := r.Poll(&b); err != nil || st != connector.More {
			t.Fatal(st, err)
		}
		for _, n := range b.Rows {
			seen[n]++
		}
	}
	for i := range int64(300) {
		if seen[i] != 1 {
			t.Errorf("index %d came %d times", i, seen[i])
		}
	}
	if len(seen) != 300 || len(splits) != 3 {
		t.Errorf("%d indices, %d splits", len(seen), len(splits))
	}
}
