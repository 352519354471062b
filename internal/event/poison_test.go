//go:build invariants || race

package event

import (
	"testing"

	"github.com/weir-stream/weir/column"
)

// Whoever reads a batch that it has released reads nonsense, and a second release panics.
func TestPoison(t *testing.T) {
	r := NewPool[int64](4).Get()
	r.Append(1, 2)
	r.Hash = append(r.Hash, 3)
	rows, times, hash := r.Rows, r.Times, r.Hash
	r.Release()
	if rows[0] == 1 || times[0] != poisonTime || hash[0] == 3 {
		t.Errorf("a released batch still holds %v, %v, %v", rows, times, hash)
	}
	twice(t, r.Release)

	s, err := column.NewSchema(column.Field{Name: "a", Kind: column.Int64}, column.Field{Name: "s", Kind: column.String})
	if err != nil {
		t.Fatal(err)
	}
	c := NewColumnPool(s, 4).Get()
	column.Append(c.B.Vector(0), int64(1))
	c.B.Vector(1).AppendString("x")
	if err := c.B.EndRow(); err != nil {
		t.Fatal(err)
	}
	a, text := column.Values[int64](c.B.Vector(0)), c.B.Vector(1).Text(0)
	c.Release()
	if a[0] == 1 || text[0] == 'x' {
		t.Errorf("a released batch still holds %v, %q", a, text)
	}
	twice(t, c.Release)
}

func twice(t *testing.T, release func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("a second release is not noticed")
		}
	}()
	release()
}
