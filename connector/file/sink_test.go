package file_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/conntest"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/format/csv"
)

// write gives each of p writers its rows in batches, and finishes them.
func write(dst connector.Sink[row], fsys connector.FileSystem, p int, finish bool) error {
	for sub := range p {
		w, err := dst.Writer(connector.WriterContext{Ctx: context.Background(), Subtask: sub, Parallelism: p, FS: fsys})
		if err != nil {
			return err
		}
		for i := sub; i < 6; i += p {
			if err := w.Write([]row{{int64(i), "x,y"}}, []int64{connector.NoTime}); err != nil {
				return err
			}
			if err := w.Flush(); err != nil {
				return err
			}
		}
		if finish {
			if err := w.(connector.Finisher).Finish(); err != nil {
				return errors.Join(err, w.Close())
			}
		}
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			return err
		}
	}
	return nil
}

func TestSinkFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		dst  connector.Sink[row]
		p    int
		want map[string]string
	}{
		{"one JSON file", file.JSONSink[row]("out/x.jsonl"), 1, map[string]string{
			"out/x.jsonl": "{\"N\":0,\"S\":\"x,y\"}\n{\"N\":1,\"S\":\"x,y\"}\n{\"N\":2,\"S\":\"x,y\"}\n{\"N\":3,\"S\":\"x,y\"}\n{\"N\":4,\"S\":\"x,y\"}\n{\"N\":5,\"S\":\"x,y\"}\n"}},
		{"a folder of CSV", file.CSVSink[row]("out", file.SinkDialect(csv.Options{Delimiter: ';'})), 2, map[string]string{
			"out/part-0-of-2.csv": "N;S\n0;x,y\n2;x,y\n4;x,y\n", "out/part-1-of-2.csv": "N;S\n1;x,y\n3;x,y\n5;x,y\n"}},
		{"compressed", file.CSVSink[row]("out/v1.0/", file.Extension(".csv.gz")), 1, map[string]string{
			"out/v1.0/part-0-of-1.csv.gz": "N,S\n0,\"x,y\"\n1,\"x,y\"\n2,\"x,y\"\n3,\"x,y\"\n4,\"x,y\"\n5,\"x,y\"\n"}},
		{"zstd by name", file.CSVSink[row]("out.csv.zst"), 1, map[string]string{
			"out.csv.zst": "N,S\n0,\"x,y\"\n1,\"x,y\"\n2,\"x,y\"\n3,\"x,y\"\n4,\"x,y\"\n5,\"x,y\"\n"}},
	} {
		fsys := conntest.NewFS(nil)
		if err := write(c.dst, fsys, c.p, true); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		got := fsys.Files()
		for name, text := range got {
			got[name] = uncompressed(t, name, text)
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		if fsys.OpenFiles() != 0 {
			t.Errorf("%s: files are still open", c.name)
		}
	}
}

func uncompressed(t *testing.T, name, text string) string {
	var r io.Reader = strings.NewReader(text)
	var err error
	switch {
	case strings.HasSuffix(name, ".gz"):
		r, err = gzip.NewReader(r)
	case strings.HasSuffix(name, ".zst"):
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The operations of publishing a file, in their order: the name appears after the content is durable.
func TestSinkOrderOfOperations(t *testing.T) {
	fsys := conntest.NewFS(nil)
	var ops []string
	fsys.Fail = func(op, path string) error {
		ops = append(ops, op+" "+path)
		return nil
	}
	if err := write(file.JSONSink[row]("o/x.jsonl"), fsys, 1, true); err != nil {
		t.Fatal(err)
	}
	ops = slices.Compact(ops)
	want := []string{"create o/.x.jsonl.inprogress", "write o/.x.jsonl.inprogress", "sync o/.x.jsonl.inprogress", "close o/.x.jsonl.inprogress", "rename o/.x.jsonl.inprogress"}
	if !slices.Equal(ops, want) {
		t.Errorf("got %q", ops)
	}
}

func TestSinkFailures(t *testing.T) {
	for _, op := range []string{"create", "write", "sync", "close", "rename"} {
		fsys := conntest.NewFS(map[string]string{"out.jsonl": "old"})
		fsys.Fail = func(o, _ string) error {
			if o == op {
				return errors.New("disk on fire")
			}
			return nil
		}
		if err := write(file.JSONSink[row]("out.jsonl"), fsys, 1, true); err == nil || !strings.Contains(err.Error(), "out.jsonl") {
			t.Errorf("%s: got %v", op, err)
		}
		if got := fsys.Files()["out.jsonl"]; got != "old" {
			t.Errorf("%s: the old file is now %q", op, got)
		}
	}
	fsys := conntest.NewFS(map[string]string{"out.jsonl": "old"})
	if err := write(file.JSONSink[row]("out.jsonl"), fsys, 1, false); err != nil || len(fsys.Files()) != 1 || fsys.Files()["out.jsonl"] != "old" {
		t.Errorf("without Finish: %v, files %q", err, fsys.Files())
	}
	if err := write(file.JSONSink[row]("out.jsonl"), fsys, 2, true); err == nil || !strings.Contains(err.Error(), "Parallelism(1)") {
		t.Errorf("two writers of one file: %v", err)
	}
	if file.JSONSink[row]("out.jsonl").(connector.MaxParallelism).MaxParallelism() != 1 || file.JSONSink[row]("out").(connector.MaxParallelism).MaxParallelism() != 0 {
		t.Error("the limit of the parallelism is wrong")
	}
}

func TestSinkMixedRuns(t *testing.T) {
	fsys := conntest.NewFS(map[string]string{"out/part-2-of-3.jsonl": "old", "out/README": "keep"})
	if err := write(file.JSONSink[row]("out"), fsys, 2, true); err == nil || !strings.Contains(err.Error(), "part-2-of-3.jsonl") {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if err := write(file.JSONSink[row]("out", file.Replace()), fsys, 2, true); err != nil {
			t.Error(err)
		}
	}
	if got := slices.Sorted(maps.Keys(fsys.Files())); !slices.Equal(got, []string{"out/README", "out/part-0-of-2.jsonl", "out/part-1-of-2.jsonl"}) {
		t.Errorf("files %q", got)
	}
}

func TestJSONSourceReadsWhatTheSinkWrote(t *testing.T) {
	type line = row
	fsys := conntest.NewFS(map[string]string{"a.jsonl": "{\"S\":\"x\",\"N\":1}\n{\"N\":0,\"S\":\"\"}\n"})
	got, err := readAll(file.JSON[line]("a.jsonl", file.SplitSize(5)), fsys, nil)
	if err != nil || !slices.Equal(got, []int64{1, 0}) {
		t.Errorf("got %v, %v", got, err)
	}
}
