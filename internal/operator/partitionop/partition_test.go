package partitionop

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/optest"
)

type item struct {
	Key string
	N   int64
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func byKey(t testing.TB) (Keys[string, item], operator.Hasher) {
	t.Helper()
	kc, err := codec.KeyFor[string]()
	must(t, err)
	return Keys[string, item]{Select: func(v item) string { return v.Key }, Codec: kc}, func(b event.Batch) {
		in := b.(*event.Records[item])
		in.Hash = in.Hash[:len(in.Rows)]
		for i := range in.Rows {
			in.Hash[i] = kc.Hash(&in.Rows[i].Key)
		}
	}
}

// listing is an operator that writes a partition's rows with their times.
func listing[K any](keys Keys[K, item], limit int64) operator.Operator {
	return NewWhole(WholeConfig[K, item, string]{Keys: keys, Limit: limit, Apply: func(key K, rows []item, times []int64, out *basic.Outlet[string]) error {
		var s strings.Builder
		fmt.Fprint(&s, key)
		for i, r := range rows {
			if r.N == 13 {
				panic("bad luck")
			}
			fmt.Fprintf(&s, " %s%d@%d", r.Key, r.N, times[i])
		}
		out.Emit(s.String())
		return nil
	}})
}

func opened(t testing.TB, op operator.Operator) *optest.Harness {
	t.Helper()
	h := optest.New(op)
	must(t, h.Open())
	return h
}

func rows() []optest.Row[item] {
	return []optest.Row[item]{optest.At(item{"b", 1}, 30), optest.At(item{"a", 2}, 10), optest.At(item{"b", 3}, 20), optest.At(item{"a", 4}, event.NoTime)}
}

func results(h *optest.Harness) (out []string) {
	for _, r := range optest.Take[string](h) {
		out = append(out, fmt.Sprintf("%s = %d", r.Value, r.Time))
	}
	slices.Sort(out)
	return out
}

func TestWholeKeepsOrderAndHoldsWatermarks(t *testing.T) {
	h := opened(t, listing(Keys[struct{}, item]{}, 1<<20))
	must(t, optest.Feed(h, 0, nil, rows()[:2]...))
	must(t, h.Watermark(15))
	must(t, optest.Feed(h, 0, nil, rows()[2:]...))
	if got := results(h); len(got) != 0 || len(h.Watermarks) != 0 {
		t.Fatalf("before the end: %q, watermarks %v", got, h.Watermarks)
	}
	must(t, h.End(1))
	want := []string{fmt.Sprintf("{} b1@30 a2@10 b3@20 a4@%d = 30", event.NoTime)}
	if got := results(h); !slices.Equal(got, want) || !slices.Equal(h.Watermarks, []int64{event.MaxTime}) {
		t.Fatalf("got %q, want %q; watermarks %v", got, want, h.Watermarks)
	}
}

func TestWholeByKey(t *testing.T) {
	keys, hash := byKey(t)
	h := opened(t, listing(keys, 1<<20))
	must(t, optest.Feed(h, 0, hash, rows()...))
	must(t, h.End(1))
	want := []string{fmt.Sprintf("a a2@10 a4@%d = 10", event.NoTime), "b b1@30 b3@20 = 30"}
	if got := results(h); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// An accumulator in place, and one that is encoded.
func TestFold(t *testing.T) {
	keys, hash := byKey(t)
	inPlace := NewFold(FoldConfig[string, item, int64, string]{Keys: keys, Limit: 1 << 20,
		Add: func(n *int64, v item) { *n += v.N }, Result: func(k string, n *int64) string { return fmt.Sprint(k, *n) }})
	encoded := NewFold(FoldConfig[string, item, []int64, string]{Keys: keys, Limit: 1 << 20,
		Add: func(n *[]int64, v item) { *n = append(*n, v.N) }, Result: func(k string, n *[]int64) string { return fmt.Sprint(k, *n) }})
	for _, c := range []struct {
		op   operator.Operator
		want []string
	}{{inPlace, []string{"a6 = 10", "b4 = 30"}}, {encoded, []string{"a[2 4] = 10", "b[1 3] = 30"}}} {
		h := opened(t, c.op)
		must(t, optest.Feed(h, 0, hash, rows()...))
		must(t, h.End(1))
		if got := results(h); !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestPartitionWithoutRowsEmitsNothing(t *testing.T) {
	for _, op := range []operator.Operator{listing(Keys[struct{}, item]{}, 1<<20),
		NewFold(FoldConfig[struct{}, item, int64, string]{Limit: 1 << 20, Add: func(*int64, item) {}, Result: func(struct{}, *int64) string { return "!" }})} {
		h := opened(t, op)
		must(t, h.End(1))
		if got := results(h); len(got) != 0 {
			t.Errorf("got %q", got)
		}
	}
}

func TestLimit(t *testing.T) {
	h := opened(t, listing(Keys[struct{}, item]{}, 64<<10))
	var err error
	for range 10_000 {
		if err = optest.Feed(h, 0, nil, optest.At(item{strings.Repeat("x", 100), 1}, 0)); err != nil {
			break
		}
	}
	var known *errs.Error
	if !errors.As(err, &known) || known.Code != errs.CodeLimit || !strings.Contains(err.Error(), "limit of 65536") || !strings.Contains(err.Error(), "Memory") {
		t.Fatalf("got %v", err)
	}
	must(t, h.Op.Close())
}

func TestFailureNamesThePartition(t *testing.T) {
	keys, hash := byKey(t)
	h := opened(t, listing(keys, 1<<20))
	must(t, optest.Feed(h, 0, hash, optest.At(item{"k", 13}, 0)))
	err := h.Watermark(event.MaxTime)
	for _, want := range []string{"op (1/1)", "bad luck", "Key:k Rows:1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
	must(t, h.Op.Close())
	must(t, h.Op.Close())
}
