package clock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/clock"
)

var start = time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC)

// conform checks what every Clock promises. pass lets d go by and everything due run to its end.
func conform(t *testing.T, c clock.Clock, pass func(d time.Duration)) {
	t.Helper()
	began := c.Now()
	timer := c.NewTimer(time.Second)
	fired := 0
	c.AfterFunc(2*time.Second, func() { fired++ })
	stopped := c.AfterFunc(2*time.Second, func() { fired += 100 })
	if !stopped.Stop() || stopped.Stop() {
		t.Error("Stop reports true once, then false")
	}
	pass(999 * time.Millisecond)
	select {
	case <-timer.C():
		t.Error("fired early")
	default:
	}
	pass(time.Millisecond)
	select {
	case at := <-timer.C():
		if got := at.Sub(began); got != time.Second {
			t.Errorf("fired at %v, want 1s", got)
		}
	default:
		t.Error("a timer that is due has not fired")
	}
	pass(time.Second)
	if fired != 1 {
		t.Errorf("functions ran %d times, want 1", fired)
	}
	if got := c.Since(began); got != 2*time.Second {
		t.Errorf("Since = %v, want 2s", got)
	}
	if timer.Reset(time.Second) {
		t.Error("Reset of a received timer reports true")
	}
	pass(time.Second)
	if !timer.Reset(time.Second) {
		t.Error("Reset of a timer that has fired, but was not received, reports false")
	}
	select {
	case <-timer.C():
		t.Error("stale instant after Reset")
	default:
	}
	if !timer.Stop() {
		t.Error("Stop of a set timer reports false")
	}
	now := c.NewTimer(0)
	pass(0)
	select {
	case <-now.C():
	default:
		t.Error("a timer of zero must fire at once")
	}
	done := make(chan error, 1)
	go func() { done <- c.Sleep(context.Background(), time.Minute) }()
	pass(time.Minute)
	if err := <-done; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- c.Sleep(ctx, time.Hour) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Sleep after cancel = %v", err)
	}
	if err := c.Sleep(ctx, -1); !errors.Is(err, context.Canceled) {
		t.Errorf("Sleep(-1) of a cancelled context = %v", err)
	}
}

func TestRealConforms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conform(t, clock.Real{}, func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		})
	})
}

func TestVirtualConforms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := clock.NewVirtual(start)
		conform(t, v, func(d time.Duration) {
			synctest.Wait()
			v.Advance(d)
			synctest.Wait()
		})
	})
}

func TestVirtualFiresInOrder(t *testing.T) {
	v := clock.NewVirtual(start)
	var got []string
	note := func(name string) func() {
		return func() { got = append(got, fmt.Sprintf("%s@%v", name, v.Since(start))) }
	}
	v.AfterFunc(3*time.Second, note("c"))
	v.AfterFunc(time.Second, func() {
		note("a")()
		v.AfterFunc(time.Second, note("nested"))
	})
	v.AfterFunc(3*time.Second, note("d"))
	v.AfterFunc(9*time.Second, note("later"))
	v.AfterFunc(0, note("now"))
	if at, ok := v.Next(); !ok || !at.Equal(start) {
		t.Errorf("Next = %v %v", at, ok)
	}
	v.Advance(5 * time.Second)
	want := []string{"now@0s", "a@1s", "nested@2s", "c@3s", "d@3s"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if v.Pending() != 1 || !v.Now().Equal(start.Add(5*time.Second)) {
		t.Errorf("pending %d, now %v", v.Pending(), v.Now())
	}
	v.AdvanceTo(start) // in the past
	if !v.Now().Equal(start.Add(5 * time.Second)) {
		t.Error("the clock went back")
	}
}

func TestAwaitPending(t *testing.T) {
	v := clock.NewVirtual(start)
	done := make(chan error, 1)
	go func() { done <- v.Sleep(context.Background(), time.Hour) }()
	if err := v.AwaitPending(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	v.Advance(time.Hour)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := v.AwaitPending(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
