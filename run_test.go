package weir_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/window"
)

// list is a source of fixed rows in one split.
type list[T any] struct{ rows []T }

func (list[T]) Name() string                       { return "list" }
func (list[T]) Boundedness() connector.Boundedness { return connector.Bounded }
func (list[T]) MaxParallelism() int                { return 1 }
func (list[T]) Enumerator(connector.EnumeratorContext, []byte) (connector.Enumerator, error) {
	return &oneSplit{}, nil
}
func (s list[T]) Reader(connector.ReaderContext) (connector.Reader[T], error) {
	return &listReader[T]{rows: s.rows}, nil
}

type oneSplit struct{ given bool }

func (e *oneSplit) Next(int) (connector.Split, bool, bool, time.Duration, error) {
	if e.given {
		return connector.Split{}, false, true, 0, nil
	}
	e.given = true
	return connector.Split{ID: "all"}, true, false, 0, nil
}
func (e *oneSplit) Return(int, []connector.Split) { e.given = false }
func (e *oneSplit) Snapshot() ([]byte, error)     { return nil, nil }
func (e *oneSplit) Close() error                  { return nil }

type listReader[T any] struct {
	rows []T
	have bool
}

func (r *listReader[T]) AddSplit(connector.Split) error { r.have = true; return nil }
func (r *listReader[T]) Poll(b *connector.Batch[T]) (string, connector.Status, error) {
	if !r.have {
		return "", connector.Done, nil
	}
	n := min(len(r.rows), cap(b.Rows)-len(b.Rows))
	b.Rows = append(b.Rows, r.rows[:n]...)
	r.rows = r.rows[n:]
	if len(r.rows) == 0 {
		r.have = false
		return "all", connector.SplitDone, nil
	}
	return "all", connector.More, nil
}
func (r *listReader[T]) Wait(ctx context.Context) error       { <-ctx.Done(); return nil }
func (r *listReader[T]) Pause(map[string]bool)                {}
func (r *listReader[T]) Snapshot() ([]connector.Split, error) { return nil, nil }
func (r *listReader[T]) Close() error                         { return nil }

type click struct {
	User string
	At   time.Time
}

func clicks() list[click] {
	at := func(s int) time.Time { return time.Date(2024, 3, 1, 10, 0, s, 0, time.UTC) }
	return list[click]{[]click{{"ann", at(1)}, {"bob", at(2)}, {"ann", at(30)}, {"ann", at(70)}, {"bob", at(65)}, {"", time.Time{}}}}
}

func TestWindowedCountEndToEnd(t *testing.T) {
	for _, parallelism := range []int{1, 2, 3} {
		for _, chaining := range []string{"true", "false"} {
			env := weir.NewEnv("clicks").Parallelism(parallelism).Set("pipeline.operator-chaining.enabled", chaining)
			counts := weir.From(env, "clicks", clicks(), weir.EventTime(func(c click) time.Time { return c.At }, weir.OutOfOrder(10*time.Second))).
				KeyBy(func(c click) string { return c.User }).
				Window("per minute", window.Tumbling(time.Minute)).
				Aggregate(weir.Count[click]()).
				Map(func(w weir.Windowed[string, int64]) string {
					return fmt.Sprintf("%s %s %d", w.Key, w.Start().Format("15:04"), w.Value)
				})
			got := slices.Sorted(counts.Collect(t.Context()))
			want := []string{"ann 10:00 2", "ann 10:01 1", "bob 10:00 1", "bob 10:01 1"}
			if !slices.Equal(got, want) {
				t.Errorf("parallelism %d, chaining %s: got %q, want %q", parallelism, chaining, got, want)
			}
		}
	}
}

func TestRowsWithoutTimeGoToTheirSideOutput(t *testing.T) {
	env := weir.NewEnv("clicks")
	all := weir.From(env, "clicks", clicks(), weir.EventTime(func(c click) time.Time { return c.At }))
	var got []click
	for c, err := range all.NoTime().CollectErr(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c)
	}
	if len(got) != 1 || got[0].User != "" {
		t.Fatalf("got %v", got)
	}
}

func TestFailureNamesOperatorAndRow(t *testing.T) {
	env := weir.NewEnv("failing")
	bad := errors.New("no such user")
	s := weir.From(env, "clicks", clicks()).TryMap(func(c click) (int, error) {
		if c.User == "bob" {
			return 0, bad
		}
		return 1, nil
	}).Name("look up")
	var last error
	for _, err := range s.CollectErr(t.Context()) {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "look up (1/1)") || !strings.Contains(last.Error(), "bob") {
		t.Fatalf("error is %v", last)
	}
}

func TestLeavingTheLoopEndsTheJob(t *testing.T) {
	env := weir.NewEnv("clicks")
	for range weir.From(env, "clicks", clicks()).Collect(t.Context()) {
		break
	}
}
