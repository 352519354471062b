package file_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/conntest"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/format/csv"
)

type row struct {
	N int64
	S string
}

// table is a CSV file with rows from..to-1.
func table(from, to int) string {
	var b strings.Builder
	b.WriteString("n,s\n")
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "%d,%s\n", i, strings.Repeat("x", i%50))
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

func zst(text string) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}

// readAll reads the whole source by one reader and returns the numbers in their order.
func readAll(src connector.Source[row], fsys connector.FileSystem, bad func(connector.BadRecord) error) (ns []int64, err error) {
	e, err := src.Enumerator(connector.EnumeratorContext{Ctx: context.Background(), Parallelism: 1, FS: fsys, Now: func() time.Time { return time.Time{} }, Log: slog.New(slog.DiscardHandler)}, nil)
	if err != nil {
		return nil, err
	}
	if bad == nil {
		bad = func(b connector.BadRecord) error { return fmt.Errorf("%s:%d:%d %s", b.Where, b.Line, b.Column, b.Want) }
	}
	r, err := src.Reader(connector.ReaderContext{Ctx: context.Background(), Parallelism: 1, FS: fsys, Bad: bad})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		s, ok, done, _, err := e.Next(0)
		if err != nil || done {
			return ns, err
		}
		if !ok {
			return ns, errors.New("no split, and not done")
		}
		if err := r.AddSplit(s); err != nil {
			return ns, err
		}
		for st := connector.More; st != connector.SplitDone; {
			b := connector.Batch[row]{Rows: make([]row, 0, 7)}
			if _, st, err = r.Poll(&b); err != nil {
				return ns, err
			}
			for _, x := range b.Rows {
				ns = append(ns, x.N)
				if len(x.S) != int(x.N%50) {
					return ns, fmt.Errorf("row %d has text %q", x.N, x.S)
				}
			}
		}
	}
}

func upTo(n int) (out []int64) {
	for i := range n {
		out = append(out, int64(i))
	}
	return out
}

func TestFindsFiles(t *testing.T) {
	fsys := conntest.NewFS(map[string]string{
		"d/a.csv": table(0, 10), "d/b.csv.gz": gz(table(10, 20)), "d/c.csv.zst": zst(table(20, 30)),
		"d/.hidden.csv": "rubbish", "d/_tmp": "rubbish", "d/sub/deep/e.csv": table(30, 40), "d/sub/f.csv": table(40, 50),
	})
	for _, c := range []struct {
		name, pattern string
		opts          []file.Option
		want          int
	}{
		{"a path", "d/a.csv", nil, 10},
		{"a folder", "d", nil, 30},
		{"a folder and those below", "d/", []file.Option{file.Recursive()}, 50},
		{"a wildcard", "d/[ab].csv*", nil, 20},
		{"a wildcard for a folder", "*/a.csv", nil, 10},
		{"any number of folders", "d/**/*.csv*", nil, 50},
		{"several patterns, nothing twice", "d/a.csv", []file.Option{file.Also("./d", "d/sub/deep/e.csv", "d/sub/f.csv")}, 50},
		{"byte ranges", "d", []file.Option{file.Recursive(), file.SplitSize(40), file.Dialect(csv.Options{OneLine: true})}, 50},
	} {
		got, err := readAll(file.CSV[row](c.pattern, c.opts...), fsys, nil)
		if err != nil || !slices.Equal(got, upTo(c.want)) {
			t.Errorf("%s: got %v, %v", c.name, got, err)
		}
	}
	if n := fsys.OpenFiles(); n != 0 {
		t.Errorf("%d files are still open", n)
	}
}

// Whatever the size of the ranges, every record is read once, in order.
func TestRangesOfEverySize(t *testing.T) {
	text := table(0, 40)
	for _, crlf := range []bool{false, true} {
		if crlf {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		for size := int64(1); size <= int64(len(text)+1); size++ {
			fsys := conntest.NewFS(map[string]string{"a.csv": strings.TrimRight(text, "\r\n")})
			got, err := readAll(file.CSV[row]("a.csv", file.SplitSize(size), file.Dialect(csv.Options{OneLine: true})), fsys, nil)
			if err != nil || !slices.Equal(got, upTo(40)) {
				t.Fatalf("ranges of %d bytes: got %v, %v", size, got, err)
			}
		}
	}
}

func TestNothingFound(t *testing.T) {
	fsys := conntest.NewFS(map[string]string{"data/flights.csv": table(0, 1), "data/sub/x/y.csv": "", "data/planes.csv": "", "zip/a.csv.bz2": "x"})
	for _, c := range []struct{ pattern, want string }{
		{"data/flihgts.csv", `file: nothing matches "data/flihgts.csv"; in data there is no flihgts.csv; did you mean flights.csv?`},
		{"dat/flights.csv", `file: nothing matches "dat/flights.csv"; in . there is no dat; did you mean data?`},
		{"data/*.json", `file: nothing matches "data/*.json"; in data there is no *.json, but flights.csv, planes.csv, sub`},
		{"zip", "file: zip/a.csv.bz2 is compressed in a way that is not supported (.bz2): use gzip or zstd"},
		{"data/sub", "file: the folder data/sub holds no file; the option Recursive takes the files in folders below it"},
	} {
		if _, err := readAll(file.CSV[row](c.pattern), fsys, nil); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.pattern, err, c.want)
		}
	}
	if got, err := readAll(file.CSV[row]("data/*.json", file.AllowEmpty()), fsys, nil); err != nil || got != nil {
		t.Errorf("AllowEmpty: %v, %v", got, err)
	}
	for _, c := range []struct {
		src  connector.Source[row]
		want string
	}{
		{file.CSV[row]("[", file.AllowEmpty()), "syntax error in pattern"},
		{file.CSV[row](""), "path is empty"},
		{file.CSV[row]("a", file.SplitSize(0)), "split size"},
		{file.CSV[row]("a", file.Dialect(csv.Options{Delimiter: '"'})), "two meanings"},
	} {
		if err := c.src.(connector.Checker).Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.src.Name(), err, c.want)
		}
	}
}

// A bad record's line is the line in the file, also for ranges that begin further on and for compressed files.
func TestBadRecordsHaveTheirLine(t *testing.T) {
	text := strings.Replace(table(0, 100), "\n77,", "\nx77,", 1)
	for name, content := range map[string]string{"a.csv": text, "a.csv.gz": gz(text), "a.csv.zst": zst(text)} {
		for _, size := range []int64{37, 500, 1 << 20} {
			var bad []connector.BadRecord
			got, err := readAll(file.CSV[row](name, file.SplitSize(size), file.Dialect(csv.Options{OneLine: true})), conntest.NewFS(map[string]string{name: content}),
				func(b connector.BadRecord) error { bad = append(bad, b); return nil })
			if err != nil || len(got) != 99 || len(bad) != 1 {
				t.Fatalf("%s: %d rows, bad %v, %v", name, len(got), bad, err)
			}
			if b := bad[0]; b.Where != name || b.Line != 79 || b.Column != 1 || b.Field != "n" || b.Value != "x77" || b.Offset != int64(strings.Index(text, "x77")) {
				t.Errorf("%s, ranges of %d bytes: %+v", name, size, b)
			}
		}
	}
}

func TestFileChanges(t *testing.T) {
	text := table(0, 20000)
	for _, c := range []struct {
		name string
		do   func(*conntest.FS)
		want string
	}{
		{"truncated", func(f *conntest.FS) { f.Put("a.csv", text[:1000]) }, "changed"},
		{"truncated in place", func(f *conntest.FS) { f.Truncate("a.csv", 1000) }, "truncated while"},
		{"other content of the same size", func(f *conntest.FS) { f.Put("a.csv", text) }, "changed"},
		{"grown", func(f *conntest.FS) { f.Put("a.csv", text+"1,x\n") }, "changed"},
	} {
		fsys := conntest.NewFS(map[string]string{"a.csv": text})
		reads := 0
		fsys.Fail = func(op, _ string) error {
			if reads++; op == "read" && reads == 6 {
				c.do(fsys)
			}
			return nil
		}
		if _, err := readAll(file.CSV[row]("a.csv"), fsys, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	whole := gz(text)
	for name, content := range map[string]string{"a.csv.gz": whole[:len(whole)/2], "a.csv.zst": zst(text)[:200], "b.csv.gz": "rubbish", "b.csv.zst": "rubbish", "c.csv.gz": ""} {
		if _, err := readAll(file.CSV[row](name), conntest.NewFS(map[string]string{name: content}), nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	fsys := conntest.NewFS(map[string]string{"a.csv": text})
	fsys.Fail = func(op, _ string) error {
		if op == "read" {
			return errors.New("disk on fire")
		}
		return nil
	}
	if _, err := readAll(file.CSV[row]("a.csv"), fsys, nil); err == nil || !strings.Contains(err.Error(), "a.csv") || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("read error: got %v", err)
	}
	if n := fsys.OpenFiles(); n != 0 {
		t.Errorf("%d files are still open", n)
	}
}
