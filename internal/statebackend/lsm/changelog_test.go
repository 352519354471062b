package lsm

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weir-stream/weir/internal/fs"
)

// A log says what was added, also rows that begin in one piece of its file and end in another, and goes with its last user.
func TestChangeLog(t *testing.T) {
	mem := fs.NewMem(nil)
	if err := mem.MkdirAll("/dir"); err != nil {
		t.Fatal(err)
	}
	l := &changeLog{fs: mem, name: "/dir/log", most: 1000}
	l.users.Store(2)
	row := func(i int) []byte {
		n := i % 71
		if i == 7000 {
			n = 3 * logMemory
		}
		return fmt.Appendf(nil, "%d%0*d", i, n, 0)
	}
	const rows = 20_000
	for i := range rows {
		l.add(row(i), i%3 == 0)
	}
	if l.size < 3*logMemory || len(l.buf) == 0 {
		t.Fatalf("%d bytes are in the file and %d behind it", l.size, len(l.buf))
	}
	for range 2 {
		n := 0
		if err := l.each(func(b []byte, whole bool) {
			if string(b) != string(row(n)) || whole != (n%3 == 0) {
				t.Fatalf("row %d is %.40q (whole: %v)", n, b, whole)
			}
			n++
		}); err != nil || n != rows {
			t.Fatalf("%d rows: %v", n, err)
		}
	}
	l.leave()
	if _, err := mem.Stat("/dir/log"); err != nil {
		t.Errorf("the file of a log that is used: %v", err)
	}
	l.leave()
	if _, err := mem.Stat("/dir/log"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of a log that nobody uses: %v", err)
	}
}

// A log that cannot be written is no failure of the state: its changes are not known, and the next checkpoint is whole.
func TestChangeLogCannotBeWritten(t *testing.T) {
	l := &changeLog{fs: fs.NewFaulty(fs.NewMem(nil), func(op fs.Op) error { return errors.New("no space left on device") }), name: "/log", most: 10}
	for range 3 {
		l.add([]byte("a row of a state"), false)
	}
	if err := l.each(func([]byte, bool) {}); err == nil {
		t.Error("it is read as if it were whole")
	}
}
