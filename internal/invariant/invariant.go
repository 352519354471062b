package invariant

import (
	"fmt"
	"sync/atomic"
)

// poison is what released bytes are overwritten with. As a length or an offset it is absurdly large, as text it is not
// UTF-8, as a pointer it is not canonical.
const poison = 0xDB

// Assert panics with the formatted message if cond is false and checks are on. The arguments are evaluated in any
// build; guard expensive ones with Enabled.
func Assert(cond bool, format string, args ...any) {
	if Enabled && !cond {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}

// Always panics with the formatted message if cond is false, in every build.
func Always(cond bool, format string, args ...any) {
	if !cond {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}

// Poison overwrites b to its capacity if checks are on. Pools call it on what is given back, so that a late reader
// fails at once instead of reading another row.
func Poison(b []byte) {
	if !Enabled {
		return
	}
	b = b[:cap(b)]
	for i := range b {
		b[i] = poison
	}
}

// Poisoned reports whether b is not empty and holds only what Poison writes. It is for tests.
func Poisoned(b []byte) bool {
	for _, c := range b {
		if c != poison {
			return false
		}
	}
	return len(b) > 0
}

// Mangle overwrites every element of s, to its capacity, with junk if checks are on: Poison for slices that may hold
// pointers and must not be filled with bytes.
func Mangle[T any](s []T, junk T) {
	if !Enabled {
		return
	}
	s = s[:cap(s)]
	for i := range s {
		s[i] = junk
	}
}

// CloseChecker finds use after Close and closing twice. The zero value is open. It is embedded in what must be closed
// exactly once. Methods may be called from any goroutine.
type CloseChecker struct {
	closed atomic.Bool
}

// Close notes the closing and panics at the second, if checks are on.
func (c *CloseChecker) Close() {
	if Enabled && c.closed.Swap(true) {
		panic("invariant broken: closed twice")
	}
}

// AssertNotClosed panics after Close, if checks are on.
func (c *CloseChecker) AssertNotClosed() {
	if Enabled && c.closed.Load() {
		panic("invariant broken: used after Close")
	}
}
