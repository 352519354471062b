package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/sink"
	"github.com/weir-stream/weir/internal/operator/source"
	"github.com/weir-stream/weir/internal/proc"
	"github.com/weir-stream/weir/internal/testkit/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestFlags(t *testing.T) {
	f, err := Parse([]string{"top", "-p", "3", "--explain", "-Da=1", "-D", "b=2", "--parallelism=4", "--out", "x", "--progress", "none", "--workers=2", "--", "--help"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"parallelism.default=3", "a=1", "b=2", "parallelism.default=4"}; !slices.Equal(f.Settings, want) {
		t.Errorf("settings %v, want %v", f.Settings, want)
	}
	if want := []string{"top", "--out", "x", "--help"}; !slices.Equal(f.Rest, want) || f.Explain != "text" || f.Workers != 2 || f.Help || f.Progress != "none" {
		t.Errorf("flags %+v", f)
	}
	_, err = Parse([]string{"--workers", "many", "--progress=loud", "--explain=xml", "-p"})
	for _, want := range []string{"--workers many: a number", "--progress loud: auto", "--explain=xml: text or json", "-p needs a value: -p N"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	for arg, want := range map[string]string{
		"--paralelism=3": `unknown argument "--paralelism=3"; did you mean --parallelism? (--help lists the flags)`,
		"zzzzzzzz":       `unknown argument "zzzzzzzz" (--help lists the flags)`,
	} {
		if got := Unknown([]string{arg}).Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	usage := Usage("flights")
	for _, fl := range flags() {
		if !strings.Contains(usage, fl.names[0]) || !strings.Contains(usage, fl.doc) {
			t.Errorf("the usage text leaves out %s", fl.names[0])
		}
	}
}

// endless is a source that waits until it is cancelled; ones is one that gives 1 a thousand times and ends.
type endless struct{ rows int }

func (endless) Name() string                       { return "test" }
func (endless) Boundedness() connector.Boundedness { return connector.Bounded }
func (endless) Enumerator(connector.EnumeratorContext, []byte) (connector.Enumerator, error) {
	return noSplits{}, nil
}
func (e endless) Reader(connector.ReaderContext) (connector.Reader[int64], error) {
	return &ones{left: e.rows}, nil
}

type noSplits struct{}

func (noSplits) Next(int) (s connector.Split, ok, done bool, wait time.Duration, err error) {
	return s, false, true, 0, nil
}
func (noSplits) Return(int, []connector.Split) {}
func (noSplits) Snapshot() ([]byte, error)     { return nil, nil }
func (noSplits) Close() error                  { return nil }

type ones struct{ left int }

func (o *ones) AddSplit(connector.Split) error { return nil }
func (o *ones) Poll(b *connector.Batch[int64]) (string, connector.Status, error) {
	if o.left < 0 {
		return "", connector.Waiting, nil
	}
	for ; o.left > 0 && !b.Full(); o.left-- {
		b.Rows = append(b.Rows, 1)
	}
	if o.left == 0 {
		return "", connector.Done, nil
	}
	return "", connector.More, nil
}
func (o *ones) Wait(ctx context.Context) error       { <-ctx.Done(); return nil }
func (o *ones) Pause(map[string]bool)                {}
func (o *ones) Snapshot() ([]connector.Split, error) { return nil, nil }
func (o *ones) Close() error                         { return nil }

type drain struct{}

func (drain) Name() string                                                    { return "drain" }
func (drain) Writer(connector.WriterContext) (connector.Writer[int64], error) { return drain{}, nil }
func (drain) Write([]int64, []int64) error                                    { return nil }
func (drain) Flush() error                                                    { return nil }
func (drain) Close() error                                                    { return nil }

// build describes ones -> f -> drain; rows < 0 waits for ever.
func build(rows int, f func(int64) int64) Build {
	return func(conf *config.Config, _ []string) (app.Program, bool, error) {
		g := graph.New("")
		src := endless{rows}
		s := g.Add(graph.Node{Name: "ones", Kind: "source", Source: true, Stateful: true, Bounded: true, Factory: &source.Descriptor{
			Make: func() operator.Operator { return source.New[int64](src, source.Options[int64]{}) }, Enumerator: src.Enumerator}})
		m := g.Add(graph.Node{Name: "f", Kind: "map", Inputs: []graph.Edge{{From: s.ID, Type: "int64"}},
			Factory: operator.Maker(func() operator.Operator { return basic.NewMap(f) })})
		g.Add(graph.Node{Name: "out", Kind: "sink", Sink: true, Inputs: []graph.Edge{{From: m.ID, Type: "int64"}},
			Factory: operator.Maker(func() operator.Operator { return sink.New[int64](drain{}) })})
		return app.Program{Graph: g, Config: conf}, false, nil
	}
}

func same(v int64) int64 { return v }

// call runs Main in a made-up process.
func call(b Build, args ...string) (code int, stdout, stderr string) {
	return callIn(context.Background(), b, args...)
}

func callIn(ctx context.Context, b Build, args ...string) (code int, stdout, stderr string) {
	var out, bad bytes.Buffer
	p := &proc.Process{Program: "prog", Args: args, Stdout: &out, Stderr: &bad, Size: func() (int, int) { return 80, 24 },
		ReadFile:   func(name string) ([]byte, error) { return nil, errors.New(name + " does not exist") },
		CreateFile: func(string) (io.WriteCloser, error) { return nil, errors.New("read-only") },
		Interrupts: func(context.Context) (context.Context, context.CancelFunc) { return context.WithCancel(ctx) },
	}
	code = Main(p, b)
	return code, out.String(), bad.String()
}

func TestExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		b              Build
		args           []string
		code           int
		stdout, stderr string // what must be in them
	}{
		"help":           {build(1, same), []string{"--help"}, 0, "Usage: prog [flags]", ""},
		"bad flag":       {build(1, same), []string{"--workers=x"}, 2, "", "--workers x"},
		"unknown flag":   {build(1, same), []string{"--explian"}, 2, "", "did you mean --explain?"},
		"unknown option": {build(1, same), []string{"-D", "paralelism.default=2"}, 2, "", `Did you mean "parallelism.default"?`},
		"no such file":   {build(1, same), []string{"--config", "weir.yaml"}, 2, "", "weir.yaml does not exist"},
		"cannot write":   {build(1, same), []string{"--cpu-profile", "x"}, 2, "", "read-only"},
		"bad program": {func(*config.Config, []string) (app.Program, bool, error) {
			return app.Program{}, false, errors.New("no job")
		}, nil, 2, "", "no job"},
		"a channel in workers": {func(conf *config.Config, args []string) (app.Program, bool, error) {
			prog, used, err := build(1, same)(conf, args)
			prog.Graph.Nodes[0].Local = true
			return prog, used, err
		}, []string{"--workers", "2"}, 2, "", "leave --workers out"},
		"checkpoints of workers without a directory": {build(1, same), []string{"--workers", "2", "--checkpoint-interval", "1 s"}, 1, "", "--checkpoint-dir"},
		"a directory of an unset variable":           {build(1, same), []string{"--checkpoint-dir", ""}, 2, "", "execution.checkpointing.dir: it is set and names nothing"},
		"a restore from an unset variable":           {build(1, same), []string{"--restore="}, 2, "", "execution.state-recovery.path: it is set and names nothing"},
		"nothing to claim":                           {build(1, same), []string{"-D", "execution.state-recovery.claim-mode=CLAIM"}, 2, "", "no savepoint is named that the job could own"},
		"explain":                                    {build(1, same), []string{"--explain"}, 0, "ones", ""},
		"explain as JSON":                            {build(1, same), []string{"--explain=json"}, 0, `"nodes"`, ""},
		"a job that ends":                            {build(1000, same), nil, 0, "", "prog: 1,000 rows read in "},
		"a job that fails":                           {build(1000, func(v int64) int64 { panic("no such number") }), nil, 1, "", "panic: no such number"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call(c.b, c.args...)
			if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

// The cause of a failure is printed once, behind its stack and before the figures.
func TestFailureIsPrintedOnce(t *testing.T) {
	_, _, stderr := call(build(1000, func(int64) int64 { panic("no such number") }), "-p", "3")
	if n := strings.Count(stderr, "no such number"); n != 1 {
		t.Errorf("the cause is printed %d times:\n%s", n, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	n := len(lines)
	if n < 5 || lines[0] != "The stack of the panic:" || !strings.HasPrefix(lines[n-2], "user.panic: f (") || !strings.Contains(lines[n-1], "rows read in") {
		t.Errorf("the cause does not come last, but for the figures:\n%s", stderr)
	}
}

// An interrupt cancels the job.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := build(-1, same)
	code, _, stderr := callIn(ctx, func(conf *config.Config, args []string) (app.Program, bool, error) {
		cancel()
		return b(conf, args)
	})
	if code != 130 || !strings.Contains(stderr, "cancel") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

func snapshot(at time.Duration, rows int64) app.Snapshot {
	return app.Snapshot{Phase: "running", Result: app.Result{Job: "flights", Duration: at, Operators: []app.Figures{
		{Name: "ones", Kind: "source", Head: true, RowsIn: rows, RowsOut: rows, Watermark: 1_356_998_400_000, Busy: 2 * time.Second, Idle: time.Second, Backpressured: time.Second},
		{Name: "an operator with quite a long name", Kind: "map", RowsIn: rows, RowsOut: rows / 2, Watermark: event.NoTime},
	}}}
}

func TestTerminalView(t *testing.T) {
	var out bytes.Buffer
	columns, rows := 120, 40
	v := &terminal{screen: &screen{w: &out}, size: func() (int, int) { return columns, rows }}
	v.show(snapshot(0, 0))
	out.Reset()
	second := snapshot(2*time.Second, 1_234_567)
	second.Operators[0].Busy += 2 * time.Second // all of the two seconds
	v.show(second)
	want := "\r\x1b[4A" +
		"\rflights  running  00:00:02\x1b[K\n" +
		"\roperator                                rows in   rows out  rows/s  watermark         busy#  backpressured!\x1b[K\n" +
		"\rones                                  1,234,567  1,234,567  617.3k  2013-01-01 00:00  [####################]\x1b[K\n" +
		"\r  an operator with quite a long name  1,234,567    617,283  617.3k  -\x1b[K\n\x1b[J"
	if out.String() != want {
		t.Errorf("\n got %q\nwant %q", out.String(), want)
	}
	for columns = 1; columns < 130; columns++ {
		out.Reset()
		v.show(snapshot(3*time.Second, 1_234_567))
		for line := range strings.Lines(strings.TrimPrefix(out.String(), "\r\x1b[4A")) {
			text := strings.NewReplacer("\r", "", "\x1b[K\n", "", "\x1b[J", "").Replace(line)
			if n := cellsOf(text); n >= max(columns, 2) {
				t.Fatalf("a line of %d columns on a terminal of %d: %q", n, columns, line)
			}
		}
	}
	rows = 5
	out.Reset()
	v.show(snapshot(4*time.Second, 9))
	if got := strings.Count(out.String(), "\n"); got != 4 || !strings.Contains(out.String(), "... and 1 more") {
		t.Errorf("on a terminal of 5 rows: %q", out.String())
	}
	out.Reset()
	v.done()
	v.screen.draw([]string{"x"})
	if got := out.String(); got != "\rx\x1b[K\n\x1b[J" {
		t.Errorf("what was kept is drawn over: %q", got)
	}
}

// What is printed while the view is shown appears above it, line by line.
func TestPrintedAboveTheView(t *testing.T) {
	var out bytes.Buffer
	s := &screen{w: &out}
	w := s.over(&out)
	fmt.Fprint(w, "before, ")
	s.draw([]string{"view"})
	out.Reset()
	fmt.Fprint(w, "one\ntw")
	fmt.Fprint(w, "o")
	fmt.Fprint(w, "\nth")
	s.keep()
	fmt.Fprint(w, "ree")
	const block = "\rview\x1b[K\n"
	want := "\r\x1b[1A\x1b[Jone\n" + block + "\r\x1b[1A\x1b[Jtwo\n" + block + "three"
	if out.String() != want {
		t.Errorf("\n got %q\nwant %q", out.String(), want)
	}
}

func TestCellsOfText(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "日本": 4, "e\u0301": 1, "한": 2} {
		if got := cellsOf(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
	if got := fit("日本語", 4); got != "日~" {
		t.Errorf("cut to %q", got)
	}
	if got := plainText("a\n\x1b[2Jb"); got != "a??[2Jb" {
		t.Errorf("made %q", got)
	}
}

func TestPlainView(t *testing.T) {
	var out bytes.Buffer
	v := &plain{w: &out, every: 5 * time.Second}
	v.show(snapshot(4*time.Second, 100))
	v.show(snapshot(5*time.Second, 5000))
	v.show(snapshot(9*time.Second, 9000))
	v.show(snapshot(10*time.Second, 2_005_000))
	want := "00:00:05 flights: ones 5,000 rows (1.0k/s) watermark 2013-01-01 00:00\n" +
		"00:00:10 flights: ones 2,005,000 rows (400.0k/s) watermark 2013-01-01 00:00\n"
	if out.String() != want {
		t.Errorf("\n got %s\nwant %s", out.String(), want)
	}
}

func TestSummary(t *testing.T) {
	var out bytes.Buffer
	summary(&out, nil)
	summary(&out, &app.Result{Job: "flights", Duration: 2 * time.Second, Operators: []app.Figures{
		{Name: "csv", Kind: "source", RowsIn: 336_776, NoTime: 8_255, Bad: 3},
		{Name: "delays", Kind: "window", RowsIn: 328_521, Late: 12},
		{Name: "f", Kind: "map", Unread: 1},
	}})
	want := `flights: 336,776 rows read in 2s, 168,388 rows a second
  csv: 8,255 rows without event time
  csv: 3 records that could not be decoded
  delays: 12 late rows (behind the watermark)
  f: 1 rows in side outputs that nobody reads
`
	if out.String() != want {
		t.Errorf("\n got %s\nwant %s", out.String(), want)
	}
}

// Checkpoints and restarts are shown where there are any.
func TestSaved(t *testing.T) {
	var out bytes.Buffer
	s := snapshot(5*time.Second, 5000)
	s.Checkpoints.Last.Epoch, s.Checkpoints.Last.Size, s.Checkpoints.Last.Duration = 12, 2_300_000, 4*time.Millisecond
	s.Checkpoints.Completed, s.Checkpoints.Failed, s.Checkpoints.Restarts = 11, 1, 2
	v := &plain{w: &out, every: 5 * time.Second, rates: rates{rows: map[string]int64{"ones": 9_000}}}
	v.show(s)
	summary(&out, &s.Result)
	want := "00:00:05 flights: ones 5,000 rows (0/s) watermark 2013-01-01 00:00  checkpoint 12: 2.3MB in 4ms  1 failed  restarts: 2\n" +
		"flights: 5,000 rows read since the last of 2 restarts, 5s in all\n" +
		"  11 checkpoints, 1 failed; the last one: 2.3MB in 4ms\n"
	if out.String() != want {
		t.Errorf("\n got %s\nwant %s", out.String(), want)
	}
}

// The runtime is told three quarters of the memory, which the workers of one machine share.
func TestTune(t *testing.T) {
	for _, c := range []struct {
		setting string
		workers int
		want    int64
	}{{"0", 0, 750}, {"400", 0, 300}, {"0", 2, 375}} {
		var memory int64
		p := &proc.Process{Memory: func() int64 { return 1000 }, Tune: func(m int64, g int) { memory = m }}
		conf := config.NewRegistry(config.Core()...).New()
		if err := conf.SetFlag("taskmanager.memory.process.size=" + c.setting); err != nil {
			t.Fatal(err)
		}
		tune(p, &Flags{Workers: c.workers}, conf)
		if memory != c.want {
			t.Errorf("%+v: told %d", c, memory)
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -999: "-999", 1234567: "1,234,567"} {
		if got := group(n); got != want {
			t.Errorf("group(%d) = %s", n, got)
		}
	}
	for x, want := range map[float64]string{0: "0", 999: "999", 1500: "1.5k", 2.5e6: "2.5M", 3e9: "3.0G"} {
		if got := short(x); got != want {
			t.Errorf("short(%v) = %s", x, got)
		}
	}
}
