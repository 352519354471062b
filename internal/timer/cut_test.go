package timer

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
)

// cutAt is a cut and what the model held then.
type cutAt struct {
	data  statebackend.Frozen
	model sorted
}

// visited is what a cut says of some groups, sorted.
func visited(t interface{ Fatalf(string, ...any) }, f statebackend.Frozen, groups keygroup.Range) sorted {
	var got sorted
	f.Each(groups, func(key statebackend.Key, ns, user, value []byte) bool {
		if len(user) != 8 || value != nil {
			t.Fatalf("a timer with the time %x and the value %x", user, value)
		}
		got = append(got, from(key, ns, int64(binary.BigEndian.Uint64(user)^1<<63)))
		return true
	})
	slices.SortFunc(got, one.compare)
	return got
}

func (m sorted) in(groups keygroup.Range) (out sorted) {
	for _, o := range m {
		if groups.ContainsHash(o.hash) {
			out = append(out, o)
		}
	}
	return out
}

// cutActions are steps of TestTimersAreASortedSet: a cut shows what the set held then, whatever has happened since.
func cutActions(s *Timers, model *sorted, cuts *[]cutAt) map[string]func(*rapid.T) {
	pick := func(rt *rapid.T) int {
		if len(*cuts) == 0 {
			rt.Skip("no cut")
		}
		return rapid.IntRange(0, len(*cuts)-1).Draw(rt, "which cut")
	}
	return map[string]func(*rapid.T){
		"cut": func(rt *rapid.T) {
			if len(*cuts) > 3 {
				rt.Skip("enough cuts")
			}
			f, err := s.Cut()
			if err != nil {
				rt.Fatal(err)
			}
			*cuts = append(*cuts, cutAt{f, slices.Clone(*model)})
		},
		"read a cut": func(rt *rapid.T) {
			c := (*cuts)[pick(rt)]
			groups := keygroup.RangeOf(rapid.IntRange(0, 2).Draw(rt, "subtask"), 3)
			if rapid.Bool().Draw(rt, "all groups") {
				groups = keygroup.All()
			}
			if got, want := visited(rt, c.data, groups), c.model.in(groups); !slices.Equal(got, want) {
				rt.Fatalf("the cut shows\n%v, want\n%v", got, want)
			}
		},
		"release a cut": func(rt *rapid.T) {
			i := pick(rt)
			(*cuts)[i].data.Release()
			(*cuts)[i].data.Release()
			*cuts = slices.Delete(*cuts, i, i+1)
		},
	}
}

// A cut is read by another goroutine while the task goes on. With -race this shows that they share nothing that changes.
func TestCutIsReadMeanwhile(t *testing.T) {
	s := New(&paged.Pool{})
	r := rand.New(rand.NewPCG(1, 2))
	var model sorted
	watermark := int64(0)
	step := func(n int) {
		for range n {
			k := key(r.IntN(2000))
			o := one{watermark + r.Int64N(5000), k.Hash, string(k.Bytes), ""}
			if r.IntN(4) == 0 {
				s.Delete(o.of())
				model.delete(o)
				continue
			}
			s.Register(o.of())
			model.register(o)
		}
		watermark += r.Int64N(100)
		_ = s.Advance(watermark, func(statebackend.Key, []byte, int64) error { return nil })
		_ = model.advance(watermark, func(one) error { return nil })
	}
	var readers sync.WaitGroup
	for range 20 {
		step(2000)
		f, err := s.Cut()
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(model)
		readers.Go(func() {
			if got := visited(t, f, keygroup.All()); !slices.Equal(got, want) {
				t.Errorf("the cut shows %d timers, want %d", len(got), len(want))
			}
			f.Release()
		})
	}
	step(2000)
	s.Close()
	readers.Wait()
}

// Memory that waits for cuts is used again although there is always a cut that has not been released.
func TestCutsLetMemoryGo(t *testing.T) {
	s := New(&paged.Pool{})
	defer s.Close()
	var last statebackend.Frozen
	var early int64
	for round := range 60 {
		for n := range 5000 {
			s.Register(key(n), nil, int64(round*100+n%100))
		}
		f, err := s.Cut()
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			last.Release()
		}
		last = f
		_ = s.Advance(int64(round*100+99), func(statebackend.Key, []byte, int64) error { return nil })
		if round == 10 {
			early = s.Bytes()
		}
	}
	if s.Bytes() > 2*early {
		t.Errorf("%d bytes after 10 rounds, %d after 60", early, s.Bytes())
	}
}

// What is cut can be loaded into sets of other key groups, and fires there when it is due, at once if it is overdue (P26).
func TestLoadAtAnotherParallelism(t *testing.T) {
	s := New(nil)
	defer s.Close()
	for n := range 1000 {
		s.Register(key(n), []byte{byte(n)}, int64(n-500))
		s.Delete(key(n/3), []byte{byte(n / 3)}, int64(n/3-500))
	}
	want := s.Len()
	f, _ := s.Cut()
	fired := 0
	for i := range 3 {
		into := New(nil)
		sink := into.Sink()
		f.Each(keygroup.RangeOf(i, 3), func(k statebackend.Key, ns, user, value []byte) bool {
			if err := sink(&snapshot.Entry{Hash: k.Hash, Key: k.Bytes, Namespace: ns, UserKey: user, Value: value}); err != nil {
				t.Fatal(err)
			}
			return true
		})
		_ = into.Advance(500, func(k statebackend.Key, ns []byte, at int64) error {
			fired++
			if k2 := key(int(at) + 500); string(k2.Bytes) != string(k.Bytes) || ns[0] != byte(at+500) {
				t.Errorf("%s %x fired at %d", k.Bytes, ns, at)
			}
			return nil
		})
		into.Close()
	}
	if fired != want || want != 666 {
		t.Errorf("%d timers fired, %d were cut, want 666", fired, want)
	}
}
