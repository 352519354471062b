package restore_test

import (
	"testing"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/restore"
	"github.com/weir-stream/weir/internal/snapshot"
)

// What an entry costs on its way into a backend: untouched, rewritten by the rules, rewritten by a function.
func BenchmarkSink(b *testing.B) {
	was, err := codec.For[order1]()
	if err != nil {
		b.Fatal(err)
	}
	saved := snapshot.State{Name: "total", Kind: snapshot.KindValue, Width: 16, Schema: codec.Table{Value: was.Schema()}.Append(nil)}
	values := func(v *codec.Values, err error) *codec.Values {
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		name string
		v    *codec.Values
	}{
		{"reuse", values(codec.ValuesOf[order1]())},
		{"rules", values(codec.ValuesOf[order4]())},
		{"variable", values(codec.ValuesOf[order2]())},
		{"function", values(codec.Migrating(values(codec.ValuesOf[string]()), func(o order1) (string, error) { return "paid", nil }))},
	} {
		b.Run(c.name, func(b *testing.B) {
			opened := restore.Opened{Values: c.v, State: snapshot.State{Name: "total", Kind: snapshot.KindValue, Schema: codec.Table{Value: c.v.Schema}.Append(nil)}}
			bytes := 0
			sink, err := restore.Sink(&saved, &opened, nil, func(e *snapshot.Entry) error { bytes += len(e.Value); return nil })
			if err != nil {
				b.Fatal(err)
			}
			e := snapshot.Entry{Key: []byte("key"), Value: was.Append(nil, &order1{5, 2})}
			b.ReportAllocs()
			for b.Loop() {
				if err := sink(&e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
