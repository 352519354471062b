package expiry_test

import (
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/expiry"
	"github.com/weir-stream/weir/internal/statebackend/model"
)

type bench struct {
	k     *expiry.Keyed
	now   int64
	count map[string]int64
}

func newBench() *bench {
	b := &bench{now: 100, count: map[string]int64{}}
	clock := func() int64 { return b.now }
	b.k = expiry.New(model.New(statebackend.Config{}), statebackend.Config{}, expiry.Clocks{Processing: clock, Event: clock},
		func(state string) func(int64) { return func(n int64) { b.count[state] += n } })
	return b
}

var key = statebackend.Key{Hash: 1 << 60, Bytes: []byte("k")}

// What has expired is seen once if the state shows it, and then it is gone.
func TestShowExpired(t *testing.T) {
	b := newBench()
	e := &statebackend.Expiry{After: 10, ShowExpired: true}
	v, err := b.k.Value(statebackend.Descriptor{Name: "v", Expiry: e})
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.k.Map(statebackend.Descriptor{Name: "m", Expiry: e})
	if err != nil {
		t.Fatal(err)
	}
	l, err := b.k.List(statebackend.Descriptor{Name: "l", Expiry: e})
	if err != nil {
		t.Fatal(err)
	}
	v.Put(key, nil, []byte("x"))
	m.Put(key, nil, []byte("e"), []byte("x"))
	l.Append(key, nil, []byte("x"))
	b.now = 110
	elements := func() (n int) {
		l.Each(key, nil, func(e []byte) bool { n++; return string(e) == "x" })
		return n
	}
	got, ok := v.Get(key, nil)
	if !ok || string(got) != "x" || elements() != 1 {
		t.Errorf("what has expired is not shown: %q, %t", got, ok)
	}
	if x, ok := m.Get(key, nil, []byte("e")); !ok || string(x) != "x" {
		t.Errorf("the entry is not shown: %q, %t", x, ok)
	}
	_, ok = v.Get(key, nil)
	if _, entry := m.Get(key, nil, []byte("e")); ok || entry || elements() != 0 {
		t.Error("it is shown again")
	}
	if b.count["v"] != 1 || b.count["m"] != 1 || b.count["l"] != 1 {
		t.Errorf("counted: %v", b.count)
	}
}

// A state that is opened twice must expire in the same way; a duration must be above 0.
func TestOpening(t *testing.T) {
	b := newBench()
	d := statebackend.Descriptor{Name: "v", Width: 8, Expiry: &statebackend.Expiry{After: 10}}
	first, err := b.k.Value(d)
	if err != nil {
		t.Fatal(err)
	}
	d.Expiry = &statebackend.Expiry{After: 10}
	if again, err := b.k.Value(d); err != nil || again != first {
		t.Errorf("opening twice gives another state (error %v)", err)
	}
	for what, e := range map[string]*statebackend.Expiry{
		"another duration": {After: 11}, "another clock": {After: 10, EventTime: true}, "none": nil, "no duration": {},
	} {
		d.Expiry = e
		if _, err := b.k.Value(d); errs.ClassOf(err) != errs.ClassUser {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Times at the edge of what a number holds do not expire by overflow.
func TestFarTimes(t *testing.T) {
	b := newBench()
	v, err := b.k.Value(statebackend.Descriptor{Name: "v", Expiry: &statebackend.Expiry{After: 1 << 62}})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{1<<63 - 2, 1 << 62, 0, -(1 << 62)} {
		b.now = at
		v.Put(key, nil, []byte("x"))
		if _, ok := v.Get(key, nil); !ok {
			t.Errorf("written at %d it is gone at once", at)
		}
	}
	b.now = -(1 << 62)
	v.Put(key, nil, []byte("x"))
	b.now = 0
	if _, ok := v.Get(key, nil); ok {
		t.Error("it lives on after its time")
	}
}
