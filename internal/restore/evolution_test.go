package restore_test

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/operator/keyedstate"
	"github.com/weir-stream/weir/internal/restore"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
	"github.com/weir-stream/weir/state"
)

// side is a program's keyed state: the backend, and the store that its function opens states in.
type side struct {
	keyed statebackend.Keyed
	place keyedstate.Place
	store state.Store
}

func newSide(t *testing.T) *side {
	s := &side{keyed: paged.NewBackend(statebackend.Config{}, &paged.Pool{})}
	t.Cleanup(func() { s.keyed.Close() })
	s.store = keyedstate.New(s.keyed, &s.place)
	return s
}

// expire lets another backend stand before the side's own.
func (s *side) expire(k statebackend.Keyed) {
	s.keyed = k
	s.store = keyedstate.New(k, &s.place)
}

func (s *side) at(key string) {
	enc := []byte(key)
	s.place.At(xxh3.Hash(enc), enc)
}

func open[H any](t *testing.T, s *side, d state.Descriptor[H]) H {
	t.Helper()
	h, err := state.Open(s.store, d)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// opened lists the states of a side as the planner gets them.
func (s *side) opened() (out []restore.Opened) {
	for i, d := range s.keyed.Descriptors() {
		st := statebackend.StateOf(d)
		st.ID = uint32(i + 1)
		out = append(out, restore.Opened{State: st, Values: d.Values})
	}
	return out
}

var textKeys = (&codec.Schema{Kind: codec.KindString}).Append(nil)

// manifestOf is what a savepoint of one operator with the side's states says.
func manifestOf(s *side) *snapshot.Manifest {
	op := snapshot.Operator{Name: "orders", Parallelism: 1, KeySchema: textKeys}
	for _, o := range s.opened() {
		op.States = append(op.States, o.State)
	}
	return &snapshot.Manifest{Job: ids.JobID{1}, Epoch: 7, Purpose: snapshot.PurposeSavepoint, Plan: "old", KeyGroups: keygroup.Count,
		Operators: []snapshot.Operator{op}}
}

// planned is the verdict on the one state that both sides have.
func planned(t *testing.T, was, now *side) *restore.Plan {
	t.Helper()
	return restore.Make(manifestOf(was), "new", []restore.Operator{{Name: "orders", Keys: textKeys, Known: true, States: now.opened()}}, restore.Options{})
}

// load brings everything of was into now, as a task does it.
func load(was, now *side) error {
	sources, err := statebackend.CopyOf(was.keyed)
	if err != nil {
		return err
	}
	to := now.opened()
	for i := range sources {
		into, err := transfer.Sinks(now.keyed, []snapshot.State{to[i].State})
		if err != nil {
			return err
		}
		sink, err := restore.Sink(&sources[i].State, &to[i], textKeys, into[to[i].State.ID])
		if err != nil {
			return err
		}
		var failed error
		sources[i].Data.Each(keygroup.All(), func(k statebackend.Key, ns, user, value []byte) bool {
			failed = sink(&snapshot.Entry{Hash: k.Hash, Key: k.Bytes, Namespace: ns, UserKey: user, Value: value})
			return failed == nil
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}

// change is a way in which a program may change the type of a state, as a user would describe it.
type change struct {
	what string
	run  func(t *testing.T) (verdict restore.Verdict, text string)
}

// allowed is a change from a value of Old to one of New, which must be want.
func allowed[Old, New any](what string, old Old, want New, from ...func(state.ValueDescriptor[New]) state.ValueDescriptor[New]) change {
	return change{what, func(t *testing.T) (restore.Verdict, string) {
		was, now := newSide(t), newSide(t)
		v := open(t, was, state.ValueOf[Old]("total"))
		d := state.ValueOf[New]("total")
		for _, f := range from {
			d = f(d)
		}
		w := open(t, now, d)
		p := planned(t, was, now)
		for _, key := range []string{"a", "b"} {
			was.at(key)
			v.Set(old)
		}
		if err := load(was, now); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for _, key := range []string{"a", "b"} {
			now.at(key)
			if got, ok := w.Get(); !ok || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v (%t), want %+v", what, got, ok, want)
			}
		}
		if err := p.Refused(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return p.Lines[0].Verdict, strings.Join(p.Lines[0].Reasons, "; ")
	}}
}

// refuse is a change that the planner and the loading must refuse alike.
func refuse[A, B any](what string, old state.Descriptor[A], now state.Descriptor[B]) change {
	return change{what, func(t *testing.T) (restore.Verdict, string) {
		was, is := newSide(t), newSide(t)
		open(t, was, old)
		open(t, is, now)
		p := planned(t, was, is)
		err := load(was, is)
		if err == nil {
			t.Fatalf("%s: it is loaded", what)
		}
		if p.Refused() == nil || len(p.Lines) == 0 {
			t.Fatalf("%s: it is planned as\n%v", what, p)
		}
		for _, r := range p.Lines[0].Reasons {
			if !strings.Contains(err.Error(), r) || !strings.Contains(p.Refused().Error(), `state "total" of operator "orders": `+r) {
				t.Errorf("%s: the plan says %q, all %v, and the loading %v", what, r, p.Refused(), err)
			}
		}
		return p.Lines[0].Verdict, strings.Join(p.Lines[0].Reasons, "; ")
	}}
}

type (
	level    int32  // an enum
	level8   int8   // an enum of fewer values
	currency string // another
)

type inner1 struct{ Lat, Lon float32 }
type inner2 struct {
	Lat, Lon float64
	Alt      *float64
}

type order1 struct{ Amount, Count int64 } // fixed width: it lies in place
type order2 struct {
	Amount, Count int64
	Note          string
}
type order3 struct {
	Amount, N int64
	At        time.Time
}
type order4 struct {
	Amount int64
	N      int64 `weir:"N,was=Count"`
}

func changes() []change {
	type named struct{ Name string }
	type optional struct{ Name *string }
	type withMap struct{ By map[int32]int64 }
	type withMap64 struct{ By map[int64]int64 }
	type four struct{ Of [4]int32 }
	type three struct{ Of [3]int32 }
	type place1 struct {
		At   inner1
		Tags []inner1
	}
	type place2 struct {
		At   inner2
		Tags []inner2
	}
	type dims1 struct{ Level level8 }
	type dims2 struct{ Level level }
	type worth struct{ Currency currency }
	type worthCode struct{ Currency int32 }
	type swap1 struct{ Old int64 }
	type swap2 struct {
		New int64 `weir:"New,was=Old"`
		Old int64
	}
	name := "n"
	return []change{
		allowed("nothing", order1{5, 2}, order1{5, 2}),
		allowed("another name of the Go type", level(3), int32(3)),
		allowed("new enum values: a named integer or string is its number or text", currency("EUR"), currency("EUR")),
		allowed("a field added", order1{5, 2}, order2{5, 2, ""}),
		allowed("a field dropped", order2{5, 2, "x"}, order1{5, 2}),
		allowed("a field renamed by tag", order1{5, 2}, order4{5, 2}),
		allowed("a field renamed without a tag", order1{5, 2}, order3{Amount: 5}),
		allowed("fields in another order", struct {
			A int8
			B string
		}{1, "b"}, struct {
			B string
			A int8
		}{"b", 1}),
		allowed("int8 widened to int32, of an enum too", dims1{-3}, dims2{-3}),
		allowed("uint16 to int32", uint16(65535), int32(65535)),
		allowed("int32 to float64", int32(-1<<31), float64(-1<<31)),
		allowed("float32 to float64", float32(0.25), 0.25),
		allowed("int64 to time.Duration", int64(7), time.Duration(7)),
		allowed("structs nested, in slices too", place1{inner1{1, 2}, []inner1{{3, 4}}}, place2{inner2{1, 2, nil}, []inner2{{3, 4, nil}}}),
		allowed("a value that may be missing now", named{name}, optional{&name}),
		allowed("a number of one width that becomes text, by a migration", order1{1250, 2}, "12.50",
			func(d state.ValueDescriptor[string]) state.ValueDescriptor[string] {
				return d.Migrate(func(o order1) (string, error) { return fmt.Sprintf("%d.%02d", o.Amount/100, o.Amount%100), nil })
			}),
		allowed("the oldest of three versions, by the migration from the second", order1{7, 2}, big.NewInt(7).String(),
			func(d state.ValueDescriptor[string]) state.ValueDescriptor[string] {
				return d.Migrate(func(o order2) (string, error) { return fmt.Sprint(o.Amount, o.Note), nil })
			}),

		refuse("int64 narrowed to int32", state.ValueOf[order1]("total"), state.ValueOf[struct{ Amount, Count int32 }]("total")),
		refuse("int64 to float64", state.ValueOf[int64]("total"), state.ValueOf[float64]("total")),
		refuse("uint64 to int64", state.ValueOf[uint64]("total"), state.ValueOf[int64]("total")),
		refuse("an enum that was text and is a number", state.ValueOf[worth]("total"), state.ValueOf[worthCode]("total")),
		refuse("a string to []byte", state.ValueOf[string]("total"), state.ValueOf[[]byte]("total")),
		refuse("a pointer to a value", state.ValueOf[optional]("total"), state.ValueOf[named]("total")),
		refuse("an array of another length", state.ValueOf[four]("total"), state.ValueOf[three]("total")),
		refuse("the key of a map inside a value", state.ValueOf[withMap]("total"), state.ValueOf[withMap64]("total")),
		refuse("another type of the library", state.ValueOf[netip.Addr]("total"), state.ValueOf[time.Time]("total")),
		refuse("a former name that another field has now", state.ValueOf[swap1]("total"), state.ValueOf[swap2]("total")),
		refuse("deep inside", state.ValueOf[place2]("total"), state.ValueOf[place1]("total")),
		refuse("no migration that fits", state.ValueOf[bool]("total"),
			state.ValueOf[int64]("total").Migrate(func(string) (int64, error) { return 0, nil }).Migrate(func(order2) (int64, error) { return 0, nil })),
		refuse("a value to a list", state.ValueOf[int64]("total"), state.ListOf[int64]("total")),
		refuse("a list to a map", state.ListOf[int64]("total"), state.MapOf[string, int64]("total")),
		refuse("the elements of a list", state.ListOf[int64]("total"), state.ListOf[int16]("total")),
		refuse("the keys of a map's entries", state.MapOf[int32, int64]("total"), state.MapOf[int64, int64]("total")),
		refuse("the values of a map's entries", state.MapOf[int32, int64]("total"), state.MapOf[int32, bool]("total")),
		refuse("an accumulator", state.AggregatingOf("total", func(*order1, int) {}, func(*order1) int { return 0 }),
			state.ReducingOf("total", func(a, b string) string { return a + b })),
	}
}

const (
	page       = "../../docs/ops/upgrading.md"
	tableBegin = "<!-- table of changes: written by WEIR_GOLDEN=write go test ./internal/restore -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

// The table of changes in the user's page is what the planner says, change by change. Each allowed one is loaded and read
// back; each refused one is refused by the planner and by the loading, with the same words.
func TestEveryChange(t *testing.T) {
	var b strings.Builder
	b.WriteString("| change | verdict | what is said |\n|---|---|---|\n")
	for _, c := range changes() {
		verdict, text := c.run(t)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.what, verdict, strings.ReplaceAll(text, "|", "\\|"))
	}
	doc, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(doc), tableBegin)
	was, tail, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	if os.Getenv("WEIR_GOLDEN") == "write" {
		if err := os.WriteFile(page, []byte(head+tableBegin+b.String()+tableEnd+tail), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was != b.String() {
		t.Errorf("the table of %s is not what the planner says:\n%s", page, b.String())
	}
}

func TestMigrationsOfElementsAndEntries(t *testing.T) {
	was, now := newSide(t), newSide(t)
	list, m := open(t, was, state.ListOf[int32]("list")), open(t, was, state.MapOf[string, order1]("map"))
	was.at("k")
	list.Add(3, 1, 2)
	m.Put("x", order1{1, 2})
	m.Put("y", order1{3, 4})
	list2 := open(t, now, state.ListOf[string]("list").Migrate(func(v int32) (string, error) { return fmt.Sprint("#", v), nil }))
	m2 := open(t, now, state.MapOf[string, int64]("map").Migrate(func(v order1) (int64, error) { return v.Amount * v.Count, nil }))
	if err := load(was, now); err != nil {
		t.Fatal(err)
	}
	now.at("k")
	var got []string
	for s := range list2.All() {
		got = append(got, s)
	}
	x, _ := m2.Get("x")
	y, _ := m2.Get("y")
	if !reflect.DeepEqual(got, []string{"#3", "#1", "#2"}) || x != 2 || y != 12 || m2.Len() != 2 {
		t.Errorf("got %v, %d, %d", got, x, y)
	}
}

func TestAMigrationThatFails(t *testing.T) {
	for want, f := range map[string]func(order1) (string, error){
		`user.function: state total: the migration failed at key "a\x00b": mend the migration function and start again, nothing of the snapshot has changed: no rate for 5`: func(o order1) (string, error) {
			return "", errors.New("no rate for " + fmt.Sprint(o.Amount))
		},
		`user.panic: state total: the migration failed at key "a\x00b": mend the migration function and start again, nothing of the snapshot has changed: user.panic: panic: boom`: func(order1) (string, error) {
			panic("boom")
		},
	} {
		was, now := newSide(t), newSide(t)
		v := open(t, was, state.ValueOf[order1]("total"))
		was.at("a\x00b")
		v.Set(order1{5, 2})
		open(t, now, state.ValueOf[string]("total").Migrate(f))
		if err := load(was, now); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestWhatIsWrongWithAMigrationShowsAtOpen(t *testing.T) {
	s := newSide(t)
	_, err := state.Open(s.store, state.ValueOf[int64]("total").Migrate(func(v int64) (int64, error) { return v * 100, nil }))
	if err == nil || !strings.Contains(err.Error(), `state "total": `) || !strings.Contains(err.Error(), "could not be told from others") {
		t.Errorf("error %v", err)
	}
}
