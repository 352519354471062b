package conntest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/blackhole"
	"github.com/weir-stream/weir/connector/channel"
	"github.com/weir-stream/weir/connector/collect"
	"github.com/weir-stream/weir/connector/conntest"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/connector/function"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/connector/print"
	"github.com/weir-stream/weir/connector/sequence"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/format/csv"
)

type row struct {
	N int64
	S string
}

func makeRow(i int64) row { return row{i, fmt.Sprint("row ", i)} }

func makeRows(n int64) (rows []row) {
	for i := range n {
		rows = append(rows, makeRow(i))
	}
	return rows
}

func table(rows []row) string {
	var b strings.Builder
	b.WriteString("n,s\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "%d,%s\n", r.N, r.S)
	}
	return b.String()
}

func lines(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "{\"N\":%d,\"S\":%q}\n", r.N, r.S)
	}
	return b.String()
}

func gz(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

func TestSources(t *testing.T) {
	rows := makeRows(500)
	fixed := func(s func() connector.Source[row]) func(testing.TB) connector.Source[row] {
		return func(testing.TB) connector.Source[row] { return s() }
	}
	fsys := conntest.NewFS(map[string]string{
		"csv/a.csv": table(rows[:150]), "csv/b.csv.gz": gz(table(rows[150:300])), "csv/c.csv": table(rows[300:301]), "csv/d.csv": table(rows[301:]),
		"json/a.jsonl": lines(rows[:250]), "json/b.jsonl.gz": gz(lines(rows[250:])), "json/c.jsonl": "",
	})
	for name, c := range map[string]conntest.SourceCase[row]{
		"slice":     {New: fixed(func() connector.Source[row] { return slice.Of(rows...) }), Ordered: true},
		"generator": {New: fixed(func() connector.Source[row] { return generator.Of(makeRow, generator.Count(500)) }), Ordered: true},
		"generator with a limit": {New: fixed(func() connector.Source[row] {
			return generator.Of(makeRow, generator.Count(500), generator.RowsPerSecond(3))
		}), Ordered: true},
		"csv": {New: fixed(func() connector.Source[row] { return file.CSV[row]("csv") }), Ordered: true},
		"csv in byte ranges": {New: fixed(func() connector.Source[row] {
			return file.CSV[row]("csv", file.SplitSize(100), file.Dialect(csv.Options{OneLine: true}))
		}), Ordered: true},
		"json":          {New: fixed(func() connector.Source[row] { return file.JSON[row]("json", file.SplitSize(300), file.SideBySide()) }), Ordered: true},
		"watched files": {New: fixed(func() connector.Source[row] { return file.CSV[row]("csv", file.Watch(time.Hour)) }), Ordered: true, Endless: true},
		"function": {New: fixed(func() connector.Source[row] {
			return function.Source(func(_ context.Context, emit func(row) error) error { return emitAll(rows, emit) })
		}), Ordered: true},
		"parallel function": {New: fixed(func() connector.Source[row] {
			return function.Parallel(4, func(_ context.Context, split, splits int, emit func(row) error) error {
				return emitAll(rows[len(rows)*split/splits:len(rows)*(split+1)/splits], emit)
			})
		})},
		"channel": {New: func(t testing.TB) connector.Source[row] {
			c := make(chan row, 7)
			stop := make(chan struct{})
			t.Cleanup(func() { close(stop) })
			go func() {
				defer close(c)
				for _, r := range rows {
					select {
					case c <- r:
					case <-stop:
						return
					}
				}
			}()
			return channel.Source(c)
		}, Ordered: true, Forgetful: true},
	} {
		t.Run(name, func(t *testing.T) {
			c.Rows, c.FS = rows, fsys
			conntest.Source(t, c)
		})
	}
	if n := fsys.OpenFiles(); n != 0 {
		t.Errorf("%d files are still open", n)
	}
	t.Run("sequence", func(t *testing.T) {
		conntest.Source(t, conntest.SourceCase[int64]{New: func(testing.TB) connector.Source[int64] { return sequence.Of(-3, 4) }, Rows: []int64{-3, -2, -1, 0, 1, 2, 3, 4}, Ordered: true})
	})
}

func emitAll(rows []row, emit func(row) error) error {
	for _, r := range rows {
		if err := emit(r); err != nil {
			return err
		}
	}
	return nil
}

func TestSinks(t *testing.T) {
	rows := makeRows(100)
	var fsys *conntest.FS
	files := func() (out []string) {
		all := fsys.Files()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			for l := range strings.Lines(all[name]) {
				if l != "N,S\n" {
					out = append(out, strings.TrimSuffix(l, "\n"))
				}
			}
		}
		return out
	}
	fsys = conntest.NewFS(nil)
	fresh := func() {
		for name := range fsys.Files() {
			if err := fsys.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	asCSV := func(r row) string { return fmt.Sprintf("%d,%s", r.N, r.S) }
	asJSON := func(r row) string { return fmt.Sprintf(`{"N":%d,"S":%q}`, r.N, r.S) }
	for name, c := range map[string]conntest.SinkCase[row]{
		"csv folder": {New: func(testing.TB) (connector.Sink[row], func() []string) { fresh(); return file.CSVSink[row]("o"), files }, Text: asCSV},
		"csv file": {New: func(testing.TB) (connector.Sink[row], func() []string) {
			fresh()
			return file.CSVSink[row]("o.csv"), files
		}, Text: asCSV},
		"json folder": {New: func(testing.TB) (connector.Sink[row], func() []string) {
			fresh()
			return file.JSONSink[row]("o"), files
		}, Text: asJSON},
		"blackhole": {New: func(testing.TB) (connector.Sink[row], func() []string) { return blackhole.Sink[row](), nil }},
		"print": {New: func(testing.TB) (connector.Sink[row], func() []string) {
			var out bytes.Buffer
			return print.Sink[row](print.To(&out)), func() (got []string) {
				for l := range strings.Lines(out.String()) {
					_, text, found := strings.Cut(l, "> ")
					if !found {
						text = l
					}
					got = append(got, strings.TrimSuffix(text, "\n"))
				}
				return got
			}
		}},
		"collect": {New: func(testing.TB) (connector.Sink[row], func() []string) {
			var got []string
			codec := collect.Codec[row]{
				Append: func(dst []byte, r row) ([]byte, error) { return fmt.Appendf(dst, "%+v", r), nil },
				Decode: func(b []byte) (row, error) { return row{S: string(b)}, nil },
			}
			return collect.Sink(codec, func(_ int, r row, _ int64) error { got = append(got, r.S); return nil }), func() []string { return got }
		}},
		"channel": {New: func(testing.TB) (connector.Sink[row], func() []string) {
			c := make(chan row, len(rows))
			return channel.Sink(c), func() (got []string) {
				for len(c) > 0 {
					got = append(got, fmt.Sprintf("%+v", <-c))
				}
				return got
			}
		}},
		"function": {New: func(testing.TB) (connector.Sink[row], func() []string) {
			var got []string
			return function.Sink(func(_ context.Context, r row) error { got = append(got, fmt.Sprintf("%+v", r)); return nil }), func() []string { return got }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.Rows, c.FS = rows, fsys
			conntest.Sink(t, c)
		})
	}
}
