package restore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/restore"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/expiry"
	"github.com/weir-stream/weir/state"
)

// aging puts a backend that lets states expire before the one of a side, at a time.
func aging(t *testing.T, now *int64) *side {
	s := newSide(t)
	clock := func() int64 { return *now }
	s.expire(expiry.New(s.keyed, statebackend.Config{}, expiry.Clocks{Processing: clock, Event: clock},
		func(string) func(int64) { return func(int64) {} }))
	return s
}

// A state may be given a time to live, lose it and change its clock. The age of what is there then counts from the restore;
// if the clock stays it goes on, whatever the duration.
func TestTimeToLiveChanges(t *testing.T) {
	type order struct {
		N    int64
		Note string
	}
	d := state.ValueOf[order]("total")
	for _, c := range []struct {
		what     string
		was, now state.ValueDescriptor[order]
		verdict  restore.Verdict
		reason   string
		dies     int64 // the value was written at 1000, and the restore was at 1500
	}{
		{"none", d, d, restore.Reuse, "", 0},
		{"kept", d.TTL(time.Second), d.TTL(time.Second), restore.Reuse, "", 2000},
		{"longer", d.TTL(time.Second), d.TTL(3 * time.Second), restore.Reuse, "", 4000},
		{"given", d, d.TTL(time.Second), restore.Migrate, "it has a time to live in processing time now: the age of all that is there counts from the restore", 2500},
		{"taken", d.TTL(time.Second), d, restore.Migrate, "it has no time to live any more: nothing expires from now on", 0},
		{"another clock", d.TTL(time.Second), d.TTL(time.Second, state.EventTime), restore.Migrate,
			"its time to live was in processing time and is in event time now: the age of all that is there counts from the restore", 2500},
	} {
		t.Run(c.what, func(t *testing.T) {
			clock := int64(1000)
			was, now := aging(t, &clock), aging(t, &clock)
			v, w := open(t, was, c.was), open(t, now, c.now)
			was.at("a")
			v.Set(order{7, "seven"})
			clock = 1500
			p := planned(t, was, now)
			if got := p.Lines[0]; got.Verdict != c.verdict || strings.Join(got.Reasons, "; ") != c.reason {
				t.Errorf("%s: %q", got.Verdict, got.Reasons)
			}
			if err := load(was, now); err != nil {
				t.Fatal(err)
			}
			now.at("a")
			check := func(at int64, want bool) {
				t.Helper()
				clock = at
				if got, ok := w.Get(); ok != want || ok && got != (order{7, "seven"}) {
					t.Errorf("at %d: %v, %t", at, got, ok)
				}
			}
			check(1500, true)
			if c.dies == 0 {
				check(1e12, true)
				return
			}
			check(c.dies-1, true)
			check(c.dies, false)
		})
	}
}

// The values are migrated too when their type changes at the same time.
func TestTimeToLiveAndTypeChange(t *testing.T) {
	clock := int64(1000)
	was, now := aging(t, &clock), aging(t, &clock)
	v := open(t, was, state.ListOf[int32]("list").TTL(time.Second))
	w := open(t, now, state.ListOf[int64]("list").TTL(time.Second))
	m := open(t, was, state.MapOf[string, int32]("map"))
	x := open(t, now, state.MapOf[string, int64]("map").TTL(time.Second))
	was.at("a")
	v.Add(1)
	m.Put("one", 1)
	clock = 1400
	v.Add(2)
	if err := load(was, now); err != nil {
		t.Fatal(err)
	}
	now.at("a")
	clock = 2000
	if n, one := w.Len(), first(x.Get("one")); n != 1 || one != 1 {
		t.Errorf("%d elements, entry %d", n, one)
	}
	for e := range w.All() {
		if e != 2 {
			t.Errorf("element %d is alive", e)
		}
	}
}

func first[A, B any](a A, _ B) A { return a }
