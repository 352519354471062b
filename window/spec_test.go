package window

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	newYork := mustZone(t, "America/New_York")
	hour := Tumbling(time.Hour)
	for _, c := range []struct {
		spec Spec
		want string // parts of the complaints, separated by |; empty if the spec is good
	}{
		{hour, ""},
		{hour.Offset(59 * time.Minute).AllowedLateness(time.Minute), ""},
		{hour.Offset(-59 * time.Minute), ""},
		{Sliding(time.Hour, 2*time.Hour).Offset(90 * time.Minute), ""},
		{SlidingDays(7, 1).In(newYork), ""},
		{Sliding(48*time.Hour, 24*time.Hour).In(newYork), ""},
		{hour.In(newYork), ""},
		{Session(time.Second).Evictor(KeepLast(3)), ""},
		{Global().Trigger(Never()), ""},
		{Spec{}, "zero Spec"},
		{Tumbling(0), "size is not positive"},
		{Tumbling(-time.Second), "size is not positive"},
		{Tumbling(time.Microsecond), "not a whole number of milliseconds|size is not positive"},
		{Sliding(time.Hour, 0), "slide is not positive"},
		{Sliding(24*time.Hour, time.Millisecond), "86400000 windows"},
		{hour.Offset(time.Hour), "offset 1h0m0s is not smaller"},
		{hour.Offset(-time.Hour), "offset -1h0m0s is not smaller"},
		{Sliding(time.Hour, time.Minute).Offset(time.Minute), "offset 1m0s is not smaller"},
		{Days(1).Offset(24 * time.Hour), "offset 24h0m0s is not smaller"},
		{Days(0), "size is not positive"},
		{Days(math.MaxInt), "longer than any calendar"},
		{hour.AllowedLateness(-1 * time.Second), "lateness is negative"},
		{hour.ProcessingTime().AllowedLateness(time.Second), "never late"},
		{hour.In(nil), "location of In is nil"},
		{Sliding(time.Hour, time.Minute).In(newYork), "whole days"},
		{Session(0), "gap is not positive"},
		{Session(time.Second).Offset(time.Millisecond).In(newYork), "offset has no meaning|zone has no meaning"},
		{SessionDynamic[int](nil), "gap function is nil"},
		{Session(time.Second).Trigger(OnDelta(1, func(a, b int) float64 { return 0 })), "sessions merge, and the trigger onDelta"},
		{Session(time.Second).Trigger(Purging(Timeout(OnCount(1), time.Second))), "sessions merge, and the trigger purging"},
		{Session(time.Second).Trigger(OnEventTime().Early(Timeout(OnCount(1), time.Second))), "sessions merge"},
		{Global(), "never a result"},
		{Count(0), "size is not positive"},
		{CountSliding(3, 0), "slide is not positive"},
		{Count(3).Trigger(OnCount(3)), "fire by count"},
		{Count(3).Evictor(KeepLast(3)), "which rows they keep"},
		{Count(3).ProcessingTime().AllowedLateness(time.Second), "follow no clock|never late"},
		{hour.Trigger(Trigger{}), "zero Trigger"},
		{hour.Trigger(OnCount(0)), "counts to nothing"},
		{hour.Trigger(Purging(OnCount(0))), "counts to nothing"},
		{hour.Trigger(EveryEventTime(0)), "not positive"},
		{hour.Trigger(OnCount(1).Early(OnCount(2))), "no early results"},
		{hour.Trigger(OnDelta[int](1, nil)), "delta function of a trigger is nil"},
		{hour.Trigger(Custom[int]("mine", nil)), `custom trigger "mine" is nil`},
		{hour.Trigger(OnEventTime().Early(Timeout(EveryEventTime(1e6), 1e6)).Late(Timeout(Timeout(OnCount(1), 1e6), 1e6))), "remembers 5 numbers"},
		{hour.Evictor(Evictor{}), "zero Evictor"},
		{hour.Evictor(KeepLast(-1)), "negative number"},
		{hour.Evictor(KeepWithin(0)), "not positive"},
		{hour.Evictor(KeepNear[int](1, nil)), "delta function of an evictor is nil"},
		{hour.Evictor(EvictWith[int]("mine", nil)), `custom evictor "mine" is nil`},
	} {
		err := c.spec.Validate()
		if _, bindErr := Bind[int](c.spec); (bindErr == nil) != (err == nil) {
			t.Errorf("%s: Validate says %v, Bind %v", c.spec, err, bindErr)
		}
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.spec, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s is valid, want %q", c.spec, c.want)
			continue
		}
		var one *Error
		if !errors.As(err, &one) || one.Advice == "" {
			t.Errorf("%s: %v has no *Error with advice", c.spec, err)
		}
		lines := strings.Split(err.Error(), "\n")
		parts := strings.Split(c.want, "|")
		if len(lines) != len(parts) {
			t.Errorf("%s: %d complaints, want %d: %v", c.spec, len(lines), len(parts), err)
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v\nlacks %q", c.spec, err, part)
			}
		}
	}
}

func TestBindTypes(t *testing.T) {
	all := SessionDynamic(func(string) time.Duration { return 0 }).Evictor(KeepNear(1, func(a, b string) float64 { return 0 }))
	_, err := Bind[int](all)
	if err == nil || strings.Count(err.Error(), "string") < 4 || len(strings.Split(err.Error(), "\n")) != 2 {
		t.Errorf("want two complaints about string and int, got %v", err)
	}
	if _, err := Bind[string](all); err != nil {
		t.Error(err)
	}
	b, err := Bind[string](all)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Assign(nil, "x", noTime); err == nil || !strings.Contains(err.Error(), "no time") {
		t.Errorf("a row without a time gives %v", err)
	}
	if _, err := b.Session("x", 5); err == nil || !strings.Contains(err.Error(), "returned 0s") {
		t.Errorf("a gap of nothing gives %v", err)
	}
}

func TestSpecsAreValues(t *testing.T) {
	base := Tumbling(time.Hour)
	a, b := base.Offset(time.Minute), base.In(nil)
	_, _ = b.In(nil), b.Offset(1)
	if base.String() != "tumbling(1h0m0s)" || a.String() != "tumbling(1h0m0s) offset 1m0s" || len(b.problems) != 1 {
		t.Errorf("a method changed its receiver: %s, %s, %v", base, a, b.problems)
	}
}

func TestBoundFlags(t *testing.T) {
	for _, c := range []struct {
		spec                Spec
		plain, sliced, keep bool
		words               int
	}{
		{Tumbling(time.Hour), true, false, false, 0},
		{Tumbling(time.Hour).ProcessingTime(), true, false, false, 0},
		{Tumbling(time.Hour).Trigger(OnEventTime()), true, false, false, 0},
		{Tumbling(time.Hour).ProcessingTime().Trigger(OnEventTime()), false, false, false, 0},
		{Tumbling(time.Hour).Trigger(OnEventTime().Early(OnCount(3))), false, false, false, 1},
		{Sliding(time.Hour, time.Minute), true, true, false, 0},
		{Sliding(time.Hour, time.Hour), true, false, false, 0},
		{Tumbling(time.Hour).Trigger(OnDelta(1, func(a, b int) float64 { return 0 })), false, false, true, 0},
		{Tumbling(time.Hour).Trigger(Custom[int]("even", evenTrigger{})), false, false, true, StateWords},
	} {
		b, err := Bind[int](c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if b.Plain != c.plain || b.Grid.Sliced() != c.sliced || b.KeepsElement != c.keep || b.StateWords != c.words {
			t.Errorf("%s: plain %v, sliced %v, keeps %v, words %d", c.spec, b.Plain, b.Grid.Sliced(), b.KeepsElement, b.StateWords)
		}
	}
}

func TestWindow(t *testing.T) {
	w := Window{-1500, 500}
	if got := w.String(); got != "[1969-12-31T23:59:58.5Z, 1970-01-01T00:00:00.5Z)" {
		t.Error(got)
	}
	if w.MaxTimestamp() != 499 || w.Duration() != 2*time.Second || !w.Contains(-1500) || w.Contains(500) {
		t.Errorf("%v: %d %v", w, w.MaxTimestamp(), w.Duration())
	}
	if GlobalWindow.MaxTimestamp() != math.MaxInt64 || !GlobalWindow.Contains(math.MaxInt64) || GlobalWindow.Duration() != math.MaxInt64 || GlobalWindow.String() != "global" {
		t.Errorf("%v", GlobalWindow)
	}
	for _, c := range []struct {
		w        Window
		lateness int64
		want     int64
	}{
		{Window{0, 10}, 0, 9},
		{Window{0, 10}, 5, 14},
		{Window{0, 10}, math.MaxInt64, math.MaxInt64},
		{GlobalWindow, 7, math.MaxInt64},
	} {
		if got := CleanupTime(c.w, c.lateness); got != c.want {
			t.Errorf("CleanupTime(%v, %d) = %d, want %d", c.w, c.lateness, got, c.want)
		}
	}
}
