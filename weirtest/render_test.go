package weirtest

import (
	"testing"
	"time"
)

type node struct {
	Name string
	at   time.Time
	next *node
}

func TestRenderTellsContents(t *testing.T) {
	utc := time.Date(2024, 3, 1, 10, 0, 0, 0, time.UTC)
	berlin := utc.In(time.FixedZone("", 3600))
	same := [][2]any{
		{node{"a", utc, &node{Name: "b"}}, node{"a", berlin, &node{Name: "b"}}},
		{map[string][]int{"a": {1}, "b": nil, "c": {}}, map[string][]int{"c": {}, "b": nil, "a": {1}}},
		{At(1, utc), At(1, berlin)},
	}
	for _, c := range same {
		if a, b := render(c[0]), render(c[1]); a != b {
			t.Errorf("%s and %s should be equal", a, b)
		}
	}
	one, two := 1, 2
	other := [][2]any{
		{node{Name: "a", next: &node{Name: "b"}}, node{Name: "a", next: &node{Name: "c"}}},
		{node{at: utc}, node{at: utc.Add(1)}},
		{&one, &two},
		{[]string{"a b"}, []string{"a", "b"}},
		{[]int(nil), []int{}},
		{map[int]int{1: 2}, map[int]int{1: 3}},
		{any(nil), 0},
	}
	for _, c := range other {
		if a, b := render(c[0]), render(c[1]); a == b {
			t.Errorf("%#v and %#v are both %s", c[0], c[1], a)
		}
	}
	loop := &node{Name: "loop"}
	loop.next = loop
	_ = render(loop) // comes to an end
}
