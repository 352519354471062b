package file_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/fs"
)

// benchSink opens a sink on the machine's own files.
func benchSink(b *testing.B, checkpoints bool, opts ...file.SinkOption) (connector.Writer[row], connector.Committer, string) {
	dir := filepath.ToSlash(filepath.Join(b.TempDir(), "out"))
	return benchWriter(b, dir, checkpoints, nil, opts...)
}

func benchWriter(b *testing.B, dir string, checkpoints bool, from *connector.Restored, opts ...file.SinkOption) (connector.Writer[row], connector.Committer, string) {
	dst := file.CSVSink[row](dir, opts...)
	ctx := connector.WriterContext{Ctx: context.Background(), Name: "out", Job: "job", JobID: "1", Attempt: fmt.Sprint(from != nil, b.N), Parallelism: 1,
		Checkpoints: checkpoints, FS: app.Files(fs.Real{}), Now: time.Now, Restored: from}
	w, err := dst.Writer(ctx)
	if err != nil {
		b.Fatal(err)
	}
	c, err := dst.(connector.TwoPhase).Committer(ctx)
	if err != nil {
		b.Fatal(err)
	}
	return w, c, dir
}

func sinkRows() ([]row, []int64) {
	rows, times := make([]row, 1024), make([]int64, 1024)
	for i := range rows {
		rows[i] = row{int64(i * 7919), "a text of some length"}
		times[i] = 1_700_000_000_000 + int64(i)
	}
	return rows, times
}

// One file a subtask outside of checkpoints, parts, and parts in buckets: a row is about 29 bytes. No sync is timed.
func BenchmarkSinkWrite(b *testing.B) {
	for _, c := range []struct {
		name        string
		checkpoints bool
		opts        []file.SinkOption
	}{
		{"one file", false, nil},
		{"parts", true, nil},
		{"parts by function", true, []file.SinkOption{file.BucketBy(func(r row) string { return bucketNames[r.N&3] })}},
		{"parts by hour", true, []file.SinkOption{file.BucketByTime("2006-01-02/15")}},
		{"parts zstd", true, []file.SinkOption{file.Extension(".csv.zst")}},
	} {
		b.Run(c.name, func(b *testing.B) {
			w, _, _ := benchSink(b, c.checkpoints, c.opts...)
			rows, times := sinkRows()
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Write(rows, times); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

var bucketNames = [...]string{"b=0", "b=1", "b=2", "b=3"}

// What a checkpoint costs the task's goroutine: Prepare with a megabyte since the last one, whose sync is the disk's; and the
// commit, on its own goroutine.
func BenchmarkSinkCheckpoint(b *testing.B) {
	for _, c := range []struct {
		name string
		opts []file.SinkOption
	}{{"in progress", nil}, {"each checkpoint", []file.SinkOption{file.RollEachCheckpoint()}}} {
		b.Run(c.name, func(b *testing.B) {
			w, committer, _ := benchSink(b, true, c.opts...)
			rows, times := sinkRows()
			var prepare, commit time.Duration
			for b.Loop() {
				for range 35 {
					if err := w.Write(rows, times); err != nil {
						b.Fatal(err)
					}
				}
				start := time.Now()
				p, err := w.(connector.Preparer).Prepare(connector.Barrier{Epoch: 1})
				if err != nil {
					b.Fatal(err)
				}
				prepared := time.Now()
				var rs []connector.CommitRequest
				for _, c := range p.Committables {
					rs = append(rs, connector.CommitRequest{Committable: c})
				}
				committer.Commit(context.Background(), rs)
				prepare += prepared.Sub(start)
				commit += time.Since(prepared)
			}
			b.ReportMetric(float64(prepare.Microseconds())/float64(b.N), "prepare-us")
			b.ReportMetric(float64(commit.Microseconds())/float64(b.N), "commit-us")
		})
	}
}

// What a restore costs that goes on in a part of 100 MB, beside a plain copy of the bytes.
func BenchmarkSinkResume(b *testing.B) {
	w, _, dir := benchSink(b, true)
	rows, times := sinkRows()
	for range 3500 {
		if err := w.Write(rows, times); err != nil {
			b.Fatal(err)
		}
	}
	p, err := w.(connector.Preparer).Prepare(connector.Barrier{Epoch: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("resume", func(b *testing.B) {
		for b.Loop() {
			again, _, _ := benchWriter(b, dir, true, &connector.Restored{Epoch: 1, State: p.State, AllState: p.State})
			b.StopTimer()
			if err := again.Close(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
	b.Run("copy", func(b *testing.B) {
		names, _ := filepath.Glob(dir + "/.part*")
		for b.Loop() {
			data, err := os.ReadFile(names[0])
			if err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(dir+"/.copy", data, 0o600); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
		}
	})
}
