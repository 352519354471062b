package codec_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/codec"
)

func TestResolveBoxes(t *testing.T) {
	type v1 struct {
		A    int32
		Name string
		In   struct{ X int8 }
	}
	type v2 struct {
		A    *int64
		Name **string
		In   *struct{ X, Y int16 }
	}
	got := reread[v1, v2](t, v1{-7, "n", struct{ X int8 }{3}})
	if *got.A != -7 || **got.Name != "n" || got.In.X != 3 || got.In.Y != 0 {
		t.Errorf("got %d %q %+v", *got.A, **got.Name, *got.In)
	}
	if list := reread[[]int8, []*int8](t, []int8{1, -1}); len(list) != 2 || *list[1] != -1 {
		t.Errorf("got %v", list)
	}
	refused[*int64, int64](t, "value was *int64 when it was written and is int64 now. It may be nil, which int64 cannot say. Keep *int64")
	plan, err := codec.Resolve(mustFor[v1](t).Schema(), mustFor[v2](t).Schema())
	if err != nil {
		t.Fatal(err)
	}
	if got := lines(plan.Changes); got != "A may be nil now; A widened from int32 to int64; Name may be nil now; Name may be nil now; In may be nil now; In.X widened from int8 to int16; In.Y added" {
		t.Errorf("changes: %s", got)
	}
}

func lines(changes []codec.Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, c.String())
	}
	return strings.Join(all, "; ")
}

func schemaOf[T any](t *testing.T) *codec.Schema {
	t.Helper()
	// As a later program reads it: without former names.
	s, _, err := codec.ParseSchema(mustFor[T](t).Schema().Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valuesOf[T any](t *testing.T) *codec.Values {
	t.Helper()
	v, err := codec.ValuesOf[T]()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func migrating[T, Old any](t *testing.T, v *codec.Values, f func(Old) (T, error)) *codec.Values {
	t.Helper()
	v, err := codec.Migrating(v, f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

type cents struct {
	Cents int64
	Note  string
}

type cents2 struct {
	Cents    int64
	Note     string
	Currency string
}

type euros struct{ Euros float64 }

// rewritten is what v makes of a value of Old.
func rewritten[Old, T any](t *testing.T, v *codec.Values, old Old) (got T, c codec.Conversion) {
	t.Helper()
	c, err := v.From(schemaOf[Old](t))
	if err != nil {
		t.Fatal(err)
	}
	enc := mustFor[Old](t).Append(nil, &old)
	if c.Rewrite != nil {
		if enc, err = c.Rewrite([]byte("head"), enc); err != nil || !bytes.HasPrefix(enc, []byte("head")) {
			t.Fatalf("%q, %v", enc, err)
		}
		enc = enc[4:]
	}
	if rest, err := mustFor[T](t).DecodeCopy(enc, &got); err != nil || len(rest) > 0 {
		t.Fatalf("%d left, %v", len(rest), err)
	}
	return got, c
}

func TestValuesOfFormerSchemas(t *testing.T) {
	plain := valuesOf[euros](t)
	if got, c := rewritten[euros, euros](t, plain, euros{5}); c.Rewrite != nil || got != (euros{5}) {
		t.Errorf("got %+v, %+v", got, c)
	}
	// Without a migration the field is lost: allowed, and said.
	got, c := rewritten[cents, euros](t, plain, cents{250, "x"})
	if got != (euros{}) || lines(c.Changes) != "Cents dropped; Note dropped; Euros added" || c.Migration != "" {
		t.Errorf("got %+v, %s", got, lines(c.Changes))
	}
	v := migrating(t, plain, func(old cents2) (euros, error) { return euros{float64(old.Cents) / 100}, nil })
	if got, c := rewritten[cents2, euros](t, v, cents2{250, "x", "EUR"}); got != (euros{2.5}) || c.Migration != "cents2" || len(c.Changes) > 0 {
		t.Errorf("got %+v, %+v", got, c)
	}
	// A version before that of the migration comes to it by the usual rules, rather than lose its fields.
	if got, c := rewritten[cents, euros](t, v, cents{250, "x"}); got != (euros{2.5}) || c.Migration != "cents2" || lines(c.Changes) != "Currency added" {
		t.Errorf("got %+v, %s %s", got, c.Migration, lines(c.Changes))
	}
	// The one that fits exactly goes first, whatever the order.
	v = migrating(t, v, func(old cents) (euros, error) { return euros{float64(old.Cents)}, nil })
	if got, c := rewritten[cents, euros](t, v, cents{250, "x"}); got != (euros{250}) || c.Migration != "cents" {
		t.Errorf("got %+v, %s", got, c.Migration)
	}
	if got, c := rewritten[euros, euros](t, v, euros{5}); c.Rewrite != nil || got != (euros{5}) {
		t.Errorf("got %+v, %+v", got, c)
	}
	if len(valuesByName(plain)) != 0 {
		t.Error("a migration has changed the values that it was added to")
	}
}

// valuesByName says which migrations are in a refusal.
func valuesByName(v *codec.Values) string {
	_, err := v.From(&codec.Schema{Kind: codec.KindString})
	_, from, _ := strings.Cut(err.Error(), "they are from ")
	return from
}

func TestValuesRefuse(t *testing.T) {
	v := migrating(t, valuesOf[int32](t), func(s string) (int32, error) { return int32(len(s)), errors.New("no number") })
	_, err := v.From(schemaOf[int64](t))
	want := "value was int64 when it was written and is int32 now. A value may not fit. Keep int64, or register a migration function.\n" +
		"No migration that is registered takes it either: they are from string."
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
	c, err := v.From(schemaOf[string](t))
	if err != nil {
		t.Fatal(err)
	}
	text := "12"
	if _, err := c.Rewrite(nil, mustFor[string](t).Append(nil, &text)); err == nil || err.Error() != "no number" {
		t.Errorf("error %v", err)
	}
	if _, err := c.Rewrite(nil, []byte{9}); err == nil {
		t.Error("a short value is taken")
	}
	if _, err := c.Rewrite(nil, []byte{0, 0}); err == nil || !strings.Contains(err.Error(), "1 bytes are left") {
		t.Errorf("error %v", err)
	}
	_, err = codec.Migrating(valuesOf[int64](t), func(int) (int64, error) { return 0, nil })
	if err == nil || !strings.Contains(err.Error(), "could not be told from others") {
		t.Errorf("error %v", err)
	}
	_, err = codec.Migrating(v, func(string) (int32, error) { return 0, nil })
	if err == nil || !strings.Contains(err.Error(), "two migrations from the same encoding") {
		t.Errorf("error %v", err)
	}
	if _, err = codec.Migrating[int32, uint8](v, nil); err == nil {
		t.Error("a nil migration is taken")
	}
}

func TestTable(t *testing.T) {
	for _, table := range []codec.Table{
		{},
		{Value: schemaOf[cents](t)},
		{Value: schemaOf[cents](t), Entry: schemaOf[string](t), Prefix: 300, Layout: "flag, row", Namespace: "window"},
		{Layout: "sessions", Namespace: "window"},
	} {
		b := table.Append(nil)
		got, err := codec.ParseTable(b)
		if err != nil || !reflect.DeepEqual(*got, table) {
			t.Errorf("got %+v, want %+v, %v", got, table, err)
		}
	}
	// By hand, from the format page.
	b := []byte("T\x01" + "\x01\x02\x01\x05" + "\x02\x02\x01\x10" + "\x03\x01\x08" + "\x04\x04time" + "\x05\x06window" + "\x06\x0aevent time")
	got, err := codec.ParseTable(b)
	if err != nil || got.Value.String() != "int64" || got.Entry.String() != "string" || got.Prefix != 8 || got.Layout != "time" || got.Namespace != "window" || got.Expiry != "event time" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "T", "X\x01", "T\x02", "T\x01\x01\x00", "T\x01\x01\x03\x01\x05\x05", "T\x01\x07\x01a", "T\x01\x05\x01a\x04\x01a",
		"T\x01\x05\x01a\x05\x01a", "T\x01\x05\x02a", "T\x01\x03\x01\x00", "T\x01\x03\x04\xff\xff\xff\x7f", "\x01\x05"} {
		if got, err := codec.ParseTable([]byte(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

func FuzzParseTable(f *testing.F) {
	f.Add([]byte("T\x01\x01\x02\x01\x05\x02\x02\x01\x10\x03\x01\x08\x04\x04time\x05\x06window"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := codec.ParseTable(b)
		if err != nil {
			return
		}
		if again := got.Append(nil); !bytes.Equal(again, b) {
			t.Fatalf("%x is read and written as %x", b, again)
		}
	})
}
