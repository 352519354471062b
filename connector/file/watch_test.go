package file_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/conntest"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/format/csv"
)

// ids asks until no split is ready, and returns the splits' names and how long to wait.
func ids(t *testing.T, e connector.Enumerator) (out []string, wait time.Duration) {
	t.Helper()
	for {
		s, ok, done, wait, err := e.Next(0)
		if err != nil || done {
			t.Fatalf("done %v, %v", done, err)
		}
		if !ok {
			return out, wait
		}
		out = append(out, s.ID)
	}
}

func TestWatch(t *testing.T) {
	fsys := conntest.NewFS(nil)
	now := time.Unix(0, 0)
	ctx := connector.EnumeratorContext{Ctx: context.Background(), Parallelism: 1, FS: fsys, Now: func() time.Time { return now }}
	src := file.CSV[row]("in", file.Watch(10*time.Second), file.SplitSize(100), file.Dialect(csv.Options{OneLine: true}))
	if src.Boundedness() != connector.Unbounded {
		t.Error("a watched folder is bounded")
	}
	e, err := src.Enumerator(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, want []string, wantWait time.Duration) {
		t.Helper()
		if got, wait := ids(t, e); !slices.Equal(got, want) || wait != wantWait {
			t.Errorf("%s: got %q, wait %v", what, got, wait)
		}
	}
	check("nothing there", nil, 10*time.Second)
	fsys.Put("in/b.csv", table(0, 1))
	fsys.Put("in/.c.csv", table(0, 1))
	check("not yet looked at", nil, 10*time.Second)
	now = now.Add(4 * time.Second)
	check("still not", nil, 6*time.Second)
	now = now.Add(6 * time.Second)
	check("found", []string{"in/b.csv"}, 10*time.Second)
	fsys.Put("in/b.csv", table(0, 2))
	fsys.Put("in/a.csv", table(0, 10))
	now = now.Add(10 * time.Second)
	s, ok, _, _, err := e.Next(0) // finds a.csv, and b.csv is known
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	state, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if e, err = src.Enumerator(ctx, state); err != nil {
		t.Fatal(err)
	}
	e.Return(0, []connector.Split{s})
	now = now.Add(20 * time.Second)
	check("restored, with a split returned", []string{"in/a.csv"}, 10*time.Second)
	now = now.Add(10 * time.Second)
	check("all is known", nil, 10*time.Second)
	if _, err := src.Enumerator(ctx, []byte("{")); err == nil {
		t.Error("a damaged state is taken")
	}
}

// Several splits of one reader are read in turn, a batch of each; when some are paused the others go on.
func TestTurns(t *testing.T) {
	fsys := conntest.NewFS(map[string]string{"a.csv": table(0, 6), "b.csv": table(0, 6), "c.csv": table(0, 2)})
	src := file.CSV[row]("*.csv", file.SideBySide())
	e, err := src.Enumerator(connector.EnumeratorContext{FS: fsys, Now: time.Now}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Reader(connector.ReaderContext{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s, _, _, _, _ := e.Next(0)
		if err := r.AddSplit(s); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	poll := func(n int) {
		for range n {
			b := connector.Batch[row]{Rows: make([]row, 0, 2)}
			id, st, err := r.Poll(&b)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, id[:min(1, len(id))]+[]string{"", " waiting", " done", " all done"}[st])
		}
	}
	poll(4)
	r.Pause(map[string]bool{"a.csv": true, "c.csv": true})
	poll(2)
	r.Pause(map[string]bool{"a.csv": true, "b.csv": true, "c.csv": true})
	poll(1)
	r.Pause(nil)
	poll(6)
	want := []string{"a", "b", "c", "a", "b", "b", " waiting", "c done", "a", "b done", "a done", " all done", " all done"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func FuzzSplitState(f *testing.F) {
	f.Add([]byte(`{"v":1,"path":"a.csv","size":70,"start":0,"end":70,"pos":-1}`))
	f.Add([]byte(`{"v":1,"path":"a.csv","size":70,"start":10,"end":50,"pos":20}`))
	f.Add([]byte(`{"v":1,"path":"b.csv.gz","size":5,"start":0,"end":5,"pos":9999}`))
	fsys := conntest.NewFS(map[string]string{"a.csv": table(0, 10), "b.csv.gz": gz(table(0, 10))})
	f.Fuzz(func(t *testing.T, state []byte) {
		r, err := file.CSV[row]("*").Reader(connector.ReaderContext{FS: fsys, Bad: func(connector.BadRecord) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if r.AddSplit(connector.Split{ID: "x", State: state}) != nil {
			return
		}
		for n := 0; ; n++ {
			b := connector.Batch[row]{Rows: make([]row, 0, 3)}
			if _, st, err := r.Poll(&b); err != nil || st == connector.SplitDone {
				return
			}
			if n > 100 {
				t.Fatal("ten rows do not end")
			}
		}
	})
}
