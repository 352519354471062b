package state

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

type limitV1 struct {
	Name string
	Max  int32
}

type limitV2 struct {
	Name  string
	Max   int64
	Since string
}

func savedBroadcast(t testing.TB) []byte {
	t.Helper()
	var in Broadcasts
	b, err := OpenBroadcast(&in, BroadcastOf[string, limitV1]("limits"))
	if err != nil {
		t.Fatal(err)
	}
	b.Put("b", limitV1{"B", 2})
	b.Put("a", limitV1{"A", -1})
	var data []byte
	in.Save(func(name string, d []byte) { data = d })
	return data
}

// A broadcast state is read again as a type to which fields were added and of which some are wider.
func TestBroadcastIsRestored(t *testing.T) {
	data := savedBroadcast(t)
	var in Broadcasts
	in.Restore("limits", data)
	var kept []byte
	in.Save(func(name string, d []byte) { kept = d })
	if string(kept) != string(data) {
		t.Error("a state that nobody opens is not kept as it is")
	}
	b, err := OpenBroadcast(&in, BroadcastOf[string, limitV2]("limits"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]limitV2{"a": {"A", -1, ""}, "b": {"B", 2, ""}}
	if got := maps.Collect(b.All()); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if v, ok := b.Get("b"); !ok || v.Max != 2 {
		t.Errorf("b is %v", v)
	}
}

func TestBroadcastRefuses(t *testing.T) {
	var in Broadcasts
	in.Restore("limits", savedBroadcast(t))
	if _, err := OpenBroadcast(&in, BroadcastOf[int, limitV1]("limits")); err == nil || !strings.Contains(err.Error(), `"limits": the type of its keys has changed`) {
		t.Errorf("other keys: %v", err)
	}
	if _, err := OpenBroadcast(&in, BroadcastOf[string, []string]("limits")); err == nil || !strings.Contains(err.Error(), `"limits": its values cannot be read`) {
		t.Errorf("other values: %v", err)
	}
}

// The list of four elements of one type and two of another, dealt out to three subtasks by hand.
func TestListIsDealtOut(t *testing.T) {
	var first, second OperatorLists
	a, _ := OpenOperatorList(&first, OperatorListOf[int32]("l"))
	a.Add(1, 2, 3, 4)
	b, _ := OpenOperatorList(&second, OperatorListOf[int64]("l"))
	b.Add(5, 6)
	var all []SavedList
	for i, l := range []*OperatorLists{&first, &second} {
		l.Save(func(_ string, d []byte) { all = append(all, SavedList{i, d}) })
	}
	for i, want := range [][]int64{{1, 2}, {3, 4}, {5, 6}} {
		var in OperatorLists
		if err := in.Restore("l", all, i, 3, 2); err != nil {
			t.Fatal(err)
		}
		l, err := OpenOperatorList(&in, OperatorListOf[int64]("l"))
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Collect(l.All()); !slices.Equal(got, want) {
			t.Errorf("subtask %d has %v, want %v", i, got, want)
		}
	}
	// At the same parallelism each subtask has its own, though another one had nothing to save.
	for i, want := range [][]int64{{1, 2, 3, 4}, nil, {5, 6}} {
		var in OperatorLists
		if err := in.Restore("l", []SavedList{{0, all[0].Data}, {2, all[1].Data}}, i, 3, 3); err != nil {
			t.Fatal(err)
		}
		if l, err := OpenOperatorList(&in, OperatorListOf[int64]("l")); err != nil || !slices.Equal(slices.Collect(l.All()), want) {
			t.Errorf("subtask %d has %v, %v, want %v", i, slices.Collect(l.All()), err, want)
		}
	}
	var in OperatorLists
	if err := in.Restore("l", all, 1, 3, 2); err != nil {
		t.Fatal(err)
	}
	u, err := OpenOperatorList(&in, OperatorUnionOf[int64]("l"))
	if got := slices.Collect(u.All()); err != nil || !slices.Equal(got, []int64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("the union is %v, %v", got, err)
	}
	if _, err := OpenOperatorList(&in, OperatorListOf[string]("l")); err == nil || !strings.Contains(err.Error(), "another type") {
		t.Errorf("opened as another type: %v", err)
	}
}

// Damaged bytes are refused or read as something, and nothing else happens.
func FuzzSaved(f *testing.F) {
	f.Add(savedBroadcast(f))
	var l OperatorLists
	list, _ := OpenOperatorList(&l, OperatorListOf[limitV1]("l"))
	list.Add(limitV1{"x", 1}, limitV1{"y", 2})
	l.Save(func(_ string, d []byte) { f.Add(d) })
	f.Fuzz(func(t *testing.T, data []byte) {
		var b Broadcasts
		b.Restore("s", data)
		_, _ = OpenBroadcast(&b, BroadcastOf[string, limitV1]("s"))
		var l OperatorLists
		if l.Restore("s", []SavedList{{0, data}, {1, data}}, 0, 1, 2) == nil {
			_, _ = OpenOperatorList(&l, OperatorListOf[limitV1]("s"))
		}
	})
}
