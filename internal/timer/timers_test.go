package timer

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
)

// one is a timer of the model.
type one struct {
	t       int64
	hash    uint64
	key, ns string
}

func (o one) compare(p one) int {
	for _, c := range []int{cmp64(o.t, p.t), cmpU(o.hash, p.hash), bytes.Compare([]byte(o.key), []byte(p.key))} {
		if c != 0 {
			return c
		}
	}
	return bytes.Compare([]byte(o.ns), []byte(p.ns))
}

func cmp64(a, b int64) int {
	if a < b {
		return -1
	} else if a > b {
		return 1
	}
	return 0
}

func cmpU(a, b uint64) int {
	if a < b {
		return -1
	} else if a > b {
		return 1
	}
	return 0
}

// sorted is the model: a slice kept in order.
type sorted []one

func (m *sorted) register(o one) {
	if i, found := slices.BinarySearchFunc(*m, o, one.compare); !found {
		*m = slices.Insert(*m, i, o)
	}
}

func (m *sorted) delete(o one) {
	if i, found := slices.BinarySearchFunc(*m, o, one.compare); found {
		*m = slices.Delete(*m, i, i+1)
	}
}

func (m *sorted) advance(t int64, fire func(one) error) error {
	for len(*m) > 0 && (*m)[0].t <= t {
		o := (*m)[0]
		*m = (*m)[1:]
		if err := fire(o); err != nil {
			return err
		}
	}
	return nil
}

func (o one) of() (statebackend.Key, []byte, int64) {
	return statebackend.Key{Hash: o.hash, Bytes: []byte(o.key)}, []byte(o.ns), o.t
}

func from(key statebackend.Key, ns []byte, t int64) one {
	return one{t, key.Hash, string(key.Bytes), string(ns)}
}

// The law: Timers is a sorted set, whatever is registered and deleted, also while timers fire.
func TestTimersAreASortedSet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := New(&paged.Pool{})
		defer s.Close()
		var model sorted
		span := rapid.SampledFrom([]int64{3, 100, 5000, 1 << 40}).Draw(rt, "span")
		hashMask := rapid.SampledFrom([]uint64{^uint64(0), 0x8000_0000_0000_0001}).Draw(rt, "hash mask")
		make := func(n, at int) one {
			key := fmt.Sprintf("%0*d", n%11, n)
			return one{int64(at)%(2*span) - span, xxh3.HashString(key) & hashMask, key, "w"[:n%2]}
		}
		draw := func(rt *rapid.T) one {
			return make(rapid.IntRange(0, 30).Draw(rt, "key"), rapid.IntRange(0, 1<<41).Draw(rt, "time"))
		}
		var cuts []cutAt
		actions := map[string]func(*rapid.T){
			"register": func(rt *rapid.T) {
				o := draw(rt)
				s.Register(o.of())
				model.register(o)
			},
			"register many": func(rt *rapid.T) {
				first, step := draw(rt), rapid.Int64Range(0, 40).Draw(rt, "step")
				for i := range rapid.Int64Range(1, 300).Draw(rt, "n") {
					o := make(int(i%17), 0)
					o.t = first.t + i*step
					s.Register(o.of())
					model.register(o)
				}
			},
			"delete": func(rt *rapid.T) {
				o := draw(rt)
				if len(model) > 0 && rapid.Bool().Draw(rt, "one that is there") {
					o = model[rapid.IntRange(0, len(model)-1).Draw(rt, "index")]
				}
				s.Delete(o.of())
				model.delete(o)
			},
			"delete many": func(rt *rapid.T) {
				for len(model) > 3 && rapid.IntRange(0, 60).Draw(rt, "go on") > 0 {
					o := model[len(model)/3]
					s.Delete(o.of())
					model.delete(o)
				}
			},
			"advance": func(rt *rapid.T) { advance(rt, s, &model, draw(rt).t, span) },
			"": func(rt *rapid.T) {
				next, ok := s.NextTime()
				if ok != (len(model) > 0) || (ok && next != model[0].t) {
					rt.Fatalf("NextTime %d %v, the model has %v", next, ok, model[:min(3, len(model))])
				}
				compare(rt, s, model)
			},
		}
		maps.Copy(actions, cutActions(s, &model, &cuts))
		rt.Repeat(actions)
	})
}

// advance runs both and compares what fires. A timer that fires may register and delete, by a rule that depends on it
// alone.
func advance(rt *rapid.T, s *Timers, model *sorted, to, span int64) {
	rule := rapid.IntRange(0, 3).Draw(rt, "rule")
	failAt := rapid.IntRange(0, 40).Draw(rt, "fail at")
	react := func(o one, register, remove func(one)) {
		switch p := o; {
		case rule == 1 && o.t < to:
			p.t = min(to, o.t+span/8+1)
			register(p)
		case rule == 2:
			p.t = o.t + 1
			p.key += "x"
			if len(p.key) < 12 {
				p.hash = xxh3.HashString(p.key)
				register(p)
				p.t -= 70 // in the past
				if len(p.key)%2 == 0 {
					register(p)
				}
				remove(p)
				if len(p.key)%3 == 0 {
					register(p)
				}
			}
		case rule == 3:
			p.ns = "w"[len(p.ns):]
			remove(p)
		}
	}
	var want, got []one
	failed := errors.New("stop")
	note := func(o one, list *[]one) error {
		*list = append(*list, o)
		if len(*list) == failAt {
			return failed
		}
		return nil
	}
	errWant := model.advance(to, func(o one) error {
		react(o, model.register, model.delete)
		return note(o, &want)
	})
	errGot := s.Advance(to, func(key statebackend.Key, ns []byte, at int64) error {
		o := from(key, ns, at)
		react(o, func(o one) { s.Register(o.of()) }, func(o one) { s.Delete(o.of()) })
		if key2 := from(key, ns, at); key2 != o {
			rt.Fatalf("the key changed during the call: %v, then %v", o, key2)
		}
		return note(o, &got)
	})
	if !slices.Equal(got, want) || errGot != errWant {
		rt.Fatalf("Advance(%d) fired\n%v (error %v), want\n%v (error %v)", to, got, errGot, want, errWant)
	}
}

func compare(rt *rapid.T, s *Timers, model sorted) {
	var got []one
	s.All(func(key statebackend.Key, ns []byte, t int64) bool {
		got = append(got, from(key, ns, t))
		return true
	})
	if !slices.Equal(got, model) {
		rt.Fatalf("All shows\n%v, want\n%v", got, model)
	}
	if s.Len() != len(model) {
		rt.Fatalf("Len %d, want %d", s.Len(), len(model))
	}
	sampled := 0
	for _, o := range model {
		if fingerprint(o.hash, []byte(o.ns), o.t)>>(64-sampleBits) == 0 {
			sampled++
		}
	}
	// Keys with equal hashes share a place in the sample, so it may be smaller.
	if n := s.sample.Len(); n > sampled {
		rt.Fatalf("%d timers in the sample, at most %d belong there", n, sampled)
	}
}

func key(n int) statebackend.Key {
	b := fmt.Appendf(nil, "%08d", n)
	return statebackend.Key{Hash: xxh3.Hash(b), Bytes: b}
}

// Registering the same timers again and again, and deleting what was registered, must not take memory for ever.
func TestLogsAreCompacted(t *testing.T) {
	for name, turn := range map[string]func(s *Timers, round, n int){
		"registered again": func(s *Timers, round, n int) { s.Register(key(n), nil, 1000) },
		"moved":            func(s *Timers, round, n int) { s.Register(key(n), nil, 1000); s.Delete(key(n), nil, 1000) },
	} {
		s := New(&paged.Pool{})
		var after1 int64
		for round := range 50 {
			for n := range 5000 {
				turn(s, round, n)
			}
			if round == 1 {
				after1 = s.Bytes()
			}
		}
		if s.Bytes() > 3*after1 {
			t.Errorf("%s: %d bytes after 2 rounds, %d after 50", name, after1, s.Bytes())
		}
		s.Close()
	}
}

func TestLargeKeys(t *testing.T) {
	s := New(nil)
	defer s.Close()
	big := statebackend.Key{Hash: 5, Bytes: bytes.Repeat([]byte("k"), 200_000)}
	for range 3 {
		s.Register(big, bytes.Repeat([]byte("n"), 100), 7)
		s.Register(key(1), nil, 7)
	}
	fired := 0
	err := s.Advance(7, func(k statebackend.Key, ns []byte, at int64) error {
		fired++
		if k.Hash == 5 && (len(k.Bytes) != 200_000 || len(ns) != 100) {
			t.Errorf("key of %d and namespace of %d bytes", len(k.Bytes), len(ns))
		}
		return nil
	})
	if err != nil || fired != 2 || s.Len() != 0 {
		t.Fatalf("fired %d, left %d, error %v", fired, s.Len(), err)
	}
}

// The order is by time, and for equal times by hash, key, namespace: worked out by hand.
func TestOrder(t *testing.T) {
	s := New(nil)
	defer s.Close()
	k := func(hash uint64, b string) statebackend.Key { return statebackend.Key{Hash: hash, Bytes: []byte(b)} }
	s.Register(k(9, "a"), nil, 5)
	s.Register(k(2, "b"), []byte("z"), 5)
	s.Register(k(2, "b"), []byte("y"), 5)
	s.Register(k(2, "a"), []byte("z"), 5)
	s.Register(k(7, "q"), nil, 6)
	s.Register(k(1<<63, "q"), nil, 4)
	s.Register(k(3, "q"), nil, -100)
	var got []string
	_ = s.Advance(5, func(k statebackend.Key, ns []byte, t int64) error {
		got = append(got, fmt.Sprintf("%d:%d%s%s", t, k.Hash%16, k.Bytes, ns))
		return nil
	})
	want := []string{"-100:3q", "4:0q", "5:2az", "5:2by", "5:2bz", "5:9a"}
	if !slices.Equal(got, want) {
		t.Errorf("fired %v, want %v", got, want)
	}
	if next, ok := s.NextTime(); !ok || next != 6 {
		t.Errorf("NextTime %d %v, want 6", next, ok)
	}
}
