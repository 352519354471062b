package keyedstate_test

import (
	"testing"

	"github.com/weir-stream/weir/internal/operator/keyedstate"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/state"
)

type note struct {
	Text string
	Tags []string
	N    int
}

// What Update hands out is the value at work and nothing of another key's, also when the function before it panicked or
// used the state itself, and strings that were kept stay what they were.
func TestUpdate(t *testing.T) {
	backend := paged.NewBackend(statebackend.Config{KeyWidth: 1}, nil)
	defer backend.Close()
	var place keyedstate.Place
	v, err := state.Open(keyedstate.New(backend, &place), state.ValueOf[note]("v"))
	if err != nil {
		t.Fatal(err)
	}
	at := func(key byte) { place.At(uint64(key)<<56, []byte{key}) }
	at(1)
	v.Update(func(n *note) { *n = note{Text: "one", Tags: []string{"a", "b"}, N: 1} })
	at(2)
	v.Update(func(n *note) {
		if n.Text != "" || n.Tags != nil || n.N != 0 {
			t.Errorf("a missing value begins as %+v", *n)
		}
		n.N = 2
	})
	at(1)
	var kept string
	v.Update(func(n *note) {
		kept = n.Text
		n.Text = "ONE"
		at(2)
		v.Update(func(inner *note) {
			if inner == n || inner.N != 2 {
				t.Errorf("inner value %+v", *inner)
			}
			inner.N++
		})
		at(1)
	})
	func() {
		defer func() { _ = recover() }()
		at(2)
		v.Update(func(n *note) { n.N = 99; panic("no") })
	}()
	at(1)
	if n, _ := v.Get(); kept != "one" || n.Text != "ONE" || len(n.Tags) != 2 || n.Tags[1] != "b" || n.N != 1 {
		t.Errorf("key 1: %+v, kept %q", n, kept)
	}
	at(2)
	v.Update(func(n *note) { n.N++ })
	if n, _ := v.Get(); n.N != 4 || n.Text != "" || n.Tags != nil {
		t.Errorf("key 2: %+v", n)
	}
}

// Updating a value costs the copy of its bytes only.
func TestUpdateAllocates(t *testing.T) {
	backend := paged.NewBackend(statebackend.Config{KeyWidth: 1}, nil)
	defer backend.Close()
	var place keyedstate.Place
	v, err := state.Open(keyedstate.New(backend, &place), state.ValueOf[note]("v"))
	if err != nil {
		t.Fatal(err)
	}
	place.At(1<<60, []byte{1})
	v.Set(note{Text: "text"})
	if n := testing.AllocsPerRun(100, func() { v.Update(func(n *note) { n.N++ }) }); n > 1 {
		t.Errorf("%v allocations an update", n)
	}
}
