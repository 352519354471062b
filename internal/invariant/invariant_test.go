package invariant_test

import (
	"bytes"
	"testing"

	"github.com/weir-stream/weir/internal/invariant"
)

// panics runs f and returns what it panicked with, "" if it did not.
func panics(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = r.(string)
		}
	}()
	f()
	return ""
}

func TestAssert(t *testing.T) {
	if got := panics(func() { invariant.Assert(true, "never") }); got != "" {
		t.Errorf("a true condition panicked: %s", got)
	}
	want := ""
	if invariant.Enabled {
		want = "invariant broken: epoch 7 after 8"
	}
	if got := panics(func() { invariant.Assert(false, "epoch %d after %d", 7, 8) }); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := panics(func() { invariant.Always(false, "epoch %d", 7) }); got != "invariant broken: epoch 7" {
		t.Errorf("Always: got %q", got)
	}
}

func TestPoisonCoversTheCapacity(t *testing.T) {
	whole := []byte("0123456789")
	invariant.Poison(whole[:3])
	if invariant.Poisoned(whole) != invariant.Enabled {
		t.Errorf("got %x", whole)
	}
	if !invariant.Enabled && !bytes.Equal(whole, []byte("0123456789")) {
		t.Errorf("touched although off: %x", whole)
	}
	names := []string{"a", "b"}
	invariant.Mangle(names[:1], "junk")
	if (names[1] == "junk") != invariant.Enabled {
		t.Errorf("got %q", names)
	}
}

func TestCloseChecker(t *testing.T) {
	var c invariant.CloseChecker
	c.AssertNotClosed()
	c.Close()
	if got := panics(c.AssertNotClosed); (got != "") != invariant.Enabled {
		t.Errorf("use after Close: %q", got)
	}
	if got := panics(c.Close); (got != "") != invariant.Enabled {
		t.Errorf("second Close: %q", got)
	}
}

func TestAssertDoesNotAllocate(t *testing.T) {
	n := 1.0
	got := testing.AllocsPerRun(100, func() { invariant.Assert(n > 0, "no argument") })
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}
