package file_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/internal/fs"
)

// writing is one attempt of a sink of one subtask on a disk, moved by hand.
type writing struct {
	t   *testing.T
	d   *disk
	now time.Time
	ctx connector.WriterContext
	w   connector.Writer[row]
	c   connector.Committer
}

func openSink(t *testing.T, d *disk, dst connector.Sink[row], attempt string, change func(*connector.WriterContext)) (*writing, error) {
	t.Helper()
	w := &writing{t: t, d: d, now: time.UnixMilli(1_700_000_000_000)}
	w.ctx = connector.WriterContext{Ctx: context.Background(), Name: "out", Job: "job", JobID: "1", Attempt: attempt, Parallelism: 1, Checkpoints: true,
		FS: d, Now: func() time.Time { return w.now }, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&w.ctx)
	}
	if err := dst.(connector.Checker).Check(); err != nil {
		return nil, err
	}
	var err error
	if w.c, err = dst.(connector.TwoPhase).Committer(w.ctx); err != nil {
		return nil, err
	}
	w.w, err = dst.Writer(w.ctx)
	return w, err
}

func mustOpen(t *testing.T, d *disk, dst connector.Sink[row], attempt string, change func(*connector.WriterContext)) *writing {
	t.Helper()
	w, err := openSink(t, d, dst, attempt, change)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *writing) write(numbers ...int64) {
	w.t.Helper()
	for _, n := range numbers {
		if err := w.w.Write([]row{{n, "x"}}, []int64{1_700_000_000_000 + n*60_000}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *writing) prepare(at connector.Barrier) connector.Prepared {
	w.t.Helper()
	p, err := w.w.(connector.Preparer).Prepare(at)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *writing) commit(p connector.Prepared, restored bool) []connector.Answer {
	var rs []connector.CommitRequest
	for _, c := range p.Committables {
		rs = append(rs, connector.CommitRequest{Committable: c, Epoch: 1, Restored: restored})
	}
	return w.c.Commit(context.Background(), rs)
}

func (w *writing) committed(p connector.Prepared) {
	w.t.Helper()
	for i, a := range w.commit(p, false) {
		if a.Outcome != connector.CommitDone || a.Err != nil {
			w.t.Fatalf("%s: %v, %v", p.Committables[i].Range, a.Outcome, a.Err)
		}
	}
}

func (w *writing) tick(d time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(d)
	if err := w.w.(connector.Ticker).Tick(); err != nil {
		w.t.Fatal(err)
	}
}

func restoredFrom(p connector.Prepared) func(*connector.WriterContext) {
	return func(ctx *connector.WriterContext) {
		ctx.Restored = &connector.Restored{Epoch: 1, Parallelism: 1, State: p.State, AllState: p.State, AllCommittables: p.Committables}
	}
}

// names lists the files, visible or not, with the attempt's digests masked.
func (d *disk) names(hidden bool) (names []string) {
	d.walk("/", func(name string) {
		if isHidden(name) == hidden {
			names = append(names, name)
		}
	})
	return names
}

func (d *disk) text(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(d.mem, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is durable before what: the bytes and the hidden name before Prepare returns, the final name before Commit does.
func TestOrderOfOperationsOfAnEpoch(t *testing.T) {
	d := newDisk()
	var ops []string
	d.ask = func(op string) error {
		if !strings.HasPrefix(op, "stat") {
			ops = append(ops, op)
		}
		return nil
	}
	w := mustOpen(t, d, file.JSONSink[row]("/o", file.BucketBy(func(row) string { return "b" }), file.RollEachCheckpoint()), "a", nil)
	w.write(1)
	p := w.prepare(connector.Barrier{Epoch: 1})
	ops = append(ops, "prepared")
	w.committed(p)
	h := strings.TrimSuffix(strings.TrimPrefix(ops[slices.IndexFunc(ops, func(s string) bool { return strings.HasPrefix(s, "write ") })], "write "), ".inprogress")
	final := d.names(false)[0]
	want := []string{"create H.inprogress", "mkdir-all /o/b", "create H.inprogress", "write H.inprogress", "sync H.inprogress", "close H.inprogress",
		"rename H.inprogress -> H.pending", "sync-dir /o/b", "sync-dir /o", "sync-dir /", "prepared", "rename H.pending -> F", "sync-dir /o/b"}
	for i := range ops {
		ops[i] = strings.ReplaceAll(strings.ReplaceAll(ops[i], h, "H"), final, "F")
	}
	if !slices.Equal(ops, want) {
		t.Errorf("got  %q\nwant %q", ops, want)
	}
}

// Pitfalls P30 and A16 for files: what is gone, short or replaced is said, and never taken for committed.
func TestCommitOfWhatIsGone(t *testing.T) {
	for _, c := range []struct {
		name   string
		harm   func(d *disk, hidden, final string)
		before bool // the harm is done before the first commit
		want   []string
	}{
		{"hidden file removed", func(d *disk, h, _ string) { d.mem.Remove(h) }, true, []string{"neither", ".pending", "is there", "3 rows, 54 bytes, /o/part-0"}},
		{"hidden file cut", func(d *disk, h, _ string) { put(d, h, "short") }, true, []string{"has 5 bytes and was prepared with 54", "3 rows"}},
		{"hidden file changed", func(d *disk, h, _ string) { put(d, h, strings.Repeat("z", 54)) }, true, []string{"other bytes than were prepared", "3 rows"}},
		{"final name taken", func(d *disk, _, f string) { put(d, f, "somebody else's") }, true, []string{"does not hold the rows", "was replaced"}},
		{"final file removed", func(d *disk, _, f string) { d.mem.Remove(f) }, false, []string{"neither", "is there", "3 rows"}},
		{"final file replaced", func(d *disk, _, f string) { put(d, f, strings.Repeat("z", 54)) }, false, []string{"does not hold the rows", "3 rows"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDisk()
			w := mustOpen(t, d, file.JSONSink[row]("/o", file.Extension(".txt")), "a", nil)
			w.write(100, 200, 300)
			p := w.prepare(connector.Barrier{Epoch: 1, Savepoint: false, Final: true})
			hidden := d.names(true)[0]
			base, _, _ := strings.Cut(strings.TrimPrefix(hidden, "/o/."), ".")
			final := "/o/" + base + ".txt"
			if !c.before {
				w.committed(p)
			}
			c.harm(d, hidden, final)
			a := w.commit(p, true)[0]
			if a.Outcome != connector.CommitFailed || a.Err == nil {
				t.Fatalf("answer %v, %v", a.Outcome, a.Err)
			}
			for _, part := range c.want {
				if !strings.Contains(a.Err.Error(), part) {
					t.Errorf("%q lacks %q", a.Err, part)
				}
			}
		})
	}
}

func put(d *disk, name, text string) {
	f, err := d.mem.Create(name)
	if err != nil {
		panic(err)
	}
	f.Write([]byte(text))
	f.Close()
}

func TestRestoreOfWhatIsGone(t *testing.T) {
	for name, harm := range map[string]func(d *disk, hidden string){
		"is there": func(d *disk, h string) { d.mem.Remove(h) },
		"changed":  func(d *disk, h string) { put(d, h, "") },
		"fewer":    func(d *disk, h string) { put(d, h, strings.Repeat("z", 40)) },
	} {
		d := newDisk()
		dst := file.JSONSink[row]("/o")
		w := mustOpen(t, d, dst, "a", nil)
		w.write(1, 2)
		p := w.prepare(connector.Barrier{Epoch: 1})
		harm(d, d.names(true)[0])
		_, err := openSink(t, d, dst, "b", restoredFrom(p))
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "(2 rows)") {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}

// A checkpoint that is older than what was written since: its part has been finished by a later one.
func TestRestoreOfAnOlderCheckpoint(t *testing.T) {
	d := newDisk()
	dst := file.JSONSink[row]("/o")
	w := mustOpen(t, d, dst, "a", nil)
	w.write(1)
	old := w.prepare(connector.Barrier{Epoch: 1})
	w.write(2)
	w.committed(w.prepare(connector.Barrier{Epoch: 2, Savepoint: true}))
	var log strings.Builder
	again := mustOpen(t, d, dst, "b", func(ctx *connector.WriterContext) {
		restoredFrom(old)(ctx)
		ctx.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	if !strings.Contains(log.String(), "older than what was written") {
		t.Errorf("log %q", log.String())
	}
	again.write(2)
	again.committed(again.prepare(connector.Barrier{Epoch: 3, Final: true}))
	var texts []string
	for _, n := range d.names(false) {
		texts = append(texts, d.text(t, n))
	}
	slices.Sort(texts)
	if want := []string{"{\"N\":1,\"S\":\"x\"}\n{\"N\":2,\"S\":\"x\"}\n", "{\"N\":2,\"S\":\"x\"}\n"}; !slices.Equal(texts, want) {
		t.Errorf("files %q", texts)
	}
}

// Rows go on in the part that the checkpoint lists, which keeps its name, unless the sink writes something else now.
func TestResume(t *testing.T) {
	first := file.CSVSink[row]("/o")
	for name, c := range map[string]struct {
		second connector.Sink[row]
		files  int
	}{
		"same":         {first, 1},
		"other format": {file.JSONSink[row]("/o"), 2},
		"other folder": {file.CSVSink[row]("/p"), 2},
		"compressed":   {file.CSVSink[row]("/o", file.Extension(".csv.gz")), 2},
		"other roll":   {file.CSVSink[row]("/o", file.RollSize(5)), 1},
	} {
		d := newDisk()
		w := mustOpen(t, d, first, "a", nil)
		w.write(1)
		p := w.prepare(connector.Barrier{Epoch: 1})
		w.write(9) // lost with the attempt
		w.prepare(connector.Barrier{Epoch: 2})
		again := mustOpen(t, d, c.second, "b", restoredFrom(p))
		w.write(10) // the old attempt goes on, and does no harm
		w.prepare(connector.Barrier{Epoch: 3})
		again.write(2)
		again.committed(again.prepare(connector.Barrier{Epoch: 4, Final: true}))
		names := d.names(false)
		if len(names) != c.files {
			t.Errorf("%s: files %q", name, names)
		}
		want := "N,S\n1,x\n"
		if c.files == 1 {
			want += "2,x\n"
		}
		if !slices.ContainsFunc(names, func(n string) bool { return d.text(t, n) == want }) {
			t.Errorf("%s: none of %q holds %q", name, names, want)
		}
	}
}

func TestRolling(t *testing.T) {
	line := len("{\"N\":1,\"S\":\"x\"}\n")
	for name, c := range map[string]struct {
		opts []file.SinkOption
		do   func(w *writing) connector.Prepared
		want int // committables at the next checkpoint
	}{
		"by size": {[]file.SinkOption{file.RollSize(int64(2 * line))}, func(w *writing) connector.Prepared {
			w.write(1, 2, 3, 4, 5)
			return w.prepare(connector.Barrier{Epoch: 1})
		}, 2},
		"young":           {nil, func(w *writing) connector.Prepared { w.write(1); return w.prepare(connector.Barrier{Epoch: 1}) }, 0},
		"each checkpoint": {[]file.SinkOption{file.RollEachCheckpoint()}, func(w *writing) connector.Prepared { w.write(1); return w.prepare(connector.Barrier{Epoch: 1}) }, 1},
		"savepoint": {nil, func(w *writing) connector.Prepared {
			w.write(1)
			return w.prepare(connector.Barrier{Epoch: 1, Savepoint: true})
		}, 1},
		"old": {[]file.SinkOption{file.RollInactive(0), file.RollInterval(time.Hour)}, func(w *writing) connector.Prepared {
			w.write(1)
			w.tick(59 * time.Minute)
			w.write(2)
			w.now = w.now.Add(time.Minute)
			return w.prepare(connector.Barrier{Epoch: 1})
		}, 1},
		"inactive": {[]file.SinkOption{file.RollInactive(time.Minute), file.RollInterval(0)}, func(w *writing) connector.Prepared {
			w.write(1)
			w.tick(59 * time.Second)
			w.write(2)
			w.tick(59 * time.Second) // nothing for 59 s
			w.write(3)
			w.tick(61 * time.Second)
			w.write(4)
			return w.prepare(connector.Barrier{Epoch: 1})
		}, 1},
		"never": {[]file.SinkOption{file.RollInactive(0), file.RollInterval(0)}, func(w *writing) connector.Prepared {
			w.write(1)
			w.tick(1000 * time.Hour)
			return w.prepare(connector.Barrier{Epoch: 1})
		}, 0},
	} {
		d := newDisk()
		w := mustOpen(t, d, file.JSONSink[row]("/o", c.opts...), "a", nil)
		if p := c.do(w); len(p.Committables) != c.want {
			t.Errorf("%s: %d committables, want %d", name, len(p.Committables), c.want)
		}
		if len(d.names(false)) > 0 {
			t.Errorf("%s: visible before the commit: %q", name, d.names(false))
		}
	}
}

// Without checkpoints a part is published when it rolls.
func TestRollingWithoutCheckpoints(t *testing.T) {
	d := newDisk()
	w := mustOpen(t, d, file.JSONSink[row]("/o", file.RollInterval(time.Minute)), "a", func(ctx *connector.WriterContext) { ctx.Checkpoints = false })
	w.write(1, 2)
	w.tick(30 * time.Second)
	if n := d.names(false); len(n) != 0 {
		t.Errorf("visible: %q", n)
	}
	w.tick(30 * time.Second)
	if n := d.names(false); len(n) != 1 || len(d.names(true)) != 0 {
		t.Errorf("visible: %q, hidden: %q", n, d.names(true))
	}
	w.write(3)
	w.committed(w.prepare(connector.Barrier{Final: true}))
	if n := d.names(false); len(n) != 2 || len(d.names(true)) != 0 {
		t.Errorf("visible: %q, hidden: %q", n, d.names(true))
	}
	if err := w.w.Close(); err != nil {
		t.Error(err)
	}
}

// A cancelled attempt removes what no checkpoint can list, and nothing else.
func TestCloseLeavesWhatCheckpointsList(t *testing.T) {
	d := newDisk()
	w := mustOpen(t, d, file.JSONSink[row]("/o", file.BucketBy(func(r row) string { return fmt.Sprint("b", r.N) })), "a", nil)
	w.write(1)
	w.prepare(connector.Barrier{Epoch: 1})
	w.write(2)
	if err := w.w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := d.names(true); len(n) != 1 || !strings.HasPrefix(n[0], "/o/b1/.part") {
		t.Errorf("left: %q", n)
	}
}

func TestSweep(t *testing.T) {
	d := newDisk()
	dst := file.JSONSink[row]("/o", file.BucketBy(func(r row) string { return fmt.Sprint("b", r.N) }))
	old := mustOpen(t, d, dst, "a", nil)
	old.write(1)
	kept := old.prepare(connector.Barrier{Epoch: 1})
	old.write(2)
	old.prepare(connector.Barrier{Epoch: 2, Savepoint: true}) // b1 and b2 for the savepoint
	old.write(3)
	old.prepare(connector.Barrier{Epoch: 3})
	other := mustOpen(t, d, dst, "a", func(ctx *connector.WriterContext) { ctx.Name = "another sink" })
	other.write(4)
	far := mustOpen(t, d, dst, "a", func(ctx *connector.WriterContext) { ctx.Subtask, ctx.Parallelism = 1, 2 })
	far.write(5)
	put(d, "/o/.mine", "a file of the user")
	put(d, "/o/.x.0.1.2.inprogress", "not ours")
	now := mustOpen(t, d, dst, "b", func(ctx *connector.WriterContext) {
		restoredFrom(kept)(ctx)
		ctx.Parallelism = 2
	})
	now.write(6)
	if err := now.c.(connector.Sweeper).Sweep(context.Background(), now.ctx.Restored); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, n := range d.names(true) {
		n = strings.TrimPrefix(n, "/o/")
		left = append(left, n[:strings.IndexByte(n+".", '.')]+" "+n[strings.LastIndexByte(n, '.'):])
	}
	// b1 twice: the savepoint's, and what this attempt goes on with; b3 is gone.
	if want := []string{"b1/ .inprogress", "b1/ .savepoint", "b2/ .savepoint", "b4/ .inprogress", "b5/ .inprogress", "b6/ .inprogress", " .mine", " .inprogress"}; !sameSet(left, want) {
		t.Errorf("left %q", left)
	}
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func TestBuckets(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	// Row n has the event time 2023-11-14T22:13:20Z and n minutes.
	for name, c := range map[string]struct {
		opt  []file.SinkOption
		want []string
	}{
		"function":        {[]file.SinkOption{file.BucketBy(func(r row) string { return fmt.Sprint("n=", r.N%2) })}, []string{"n=0", "n=1"}},
		"hours":           {[]file.SinkOption{file.BucketByTime("2006-01-02/15")}, []string{"2023-11-14/22", "2023-11-14/23", "2023-11-15/00"}},
		"days in Berlin":  {[]file.SinkOption{file.BucketByTime("2006-01-02"), file.BucketZone(berlin)}, []string{"2023-11-14", "2023-11-15"}},
		"processing time": {[]file.SinkOption{file.BucketByProcessingTime("06-Jan")}, []string{"23-Nov"}},
	} {
		d := newDisk()
		w := mustOpen(t, d, file.JSONSink[row]("/o", c.opt...), "a", nil)
		w.write(0, 46, 47, 60, 106, 107, 3, 100)
		w.committed(w.prepare(connector.Barrier{Final: true, Epoch: 1}))
		var dirs []string
		for _, n := range d.names(false) {
			dirs = append(dirs, strings.TrimPrefix(n[:strings.LastIndexByte(n, '/')], "/o/"))
		}
		if !slices.Equal(dirs, c.want) {
			t.Errorf("%s: %q, want %q", name, dirs, c.want)
		}
	}
}

func TestBucketsThatReadersWouldNotSee(t *testing.T) {
	for _, bad := range []string{"..", "../x", "/x", "a//b", "a/", ".x", "a/_b", "a\\b", "a/../b", "a/."} {
		d := newDisk()
		w := mustOpen(t, d, file.JSONSink[row]("/o", file.BucketBy(func(row) string { return bad })), "a", nil)
		if err := w.w.Write([]row{{7, "x"}}, []int64{0}); err == nil || !strings.Contains(err.Error(), "N:7") {
			t.Errorf("%q: err = %v", bad, err)
		}
	}
	for want, dst := range map[string]connector.Sink[row]{
		"name a folder":          file.JSONSink[row]("/o.jsonl", file.RollSize(9)),
		"func(int) string":       file.JSONSink[row]("/o", file.BucketBy(func(int) string { return "" })),
		"put the time into":      file.JSONSink[row]("/o", file.BucketBy(func(row) string { return "" }), file.BucketByTime("2006")),
		"zone":                   file.JSONSink[row]("/o", file.BucketZone(nil)),
		"the prefix":             file.JSONSink[row]("/o", file.Prefix("_x")),
		"the extension":          file.JSONSink[row]("/o", file.Extension("/x")),
		"must be above 0":        file.JSONSink[row]("/o", file.RollSize(0)),
		"one or more names with": file.JSONSink[row]("/o", file.BucketByTime("/2006")),
	} {
		if err := dst.(connector.Checker).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// More buckets than files may be open: the oldest make room, and no row is lost.
func TestManyBuckets(t *testing.T) {
	d := newDisk()
	w := mustOpen(t, d, file.JSONSink[row]("/o", file.BucketBy(func(r row) string { return fmt.Sprint("b", r.N) })), "a", nil)
	for n := range int64(300) {
		w.now = w.now.Add(time.Millisecond)
		w.write(n)
	}
	p := w.prepare(connector.Barrier{Epoch: 1})
	if len(p.State) != 128 || len(p.Committables) != 172 {
		t.Errorf("%d parts in progress and %d ended, want 128 and 172", len(p.State), len(p.Committables))
	}
	w.committed(w.prepare(connector.Barrier{Epoch: 2, Final: true}))
	w.committed(p)
	if n := len(d.names(false)); n != 300 {
		t.Errorf("%d files, want 300", n)
	}
}
