package metrics_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/metrics"
	"github.com/weir-stream/weir/internal/netx"
)

var rewrite = flag.Bool("rewrite", false, "write testdata anew")

func newRegistry(log io.Writer) *metrics.Registry {
	cfg := config.NewRegistry(config.Core()...).New()
	return metrics.NewRegistry(metrics.ConfigFrom(cfg, "host1", "tm1"), slog.New(slog.NewTextHandler(log, nil)))
}

// sample builds a worker with one job of one task of two operators.
func sample(r *metrics.Registry) (task *metrics.Group) {
	job := r.TaskManager().Job(metrics.JobVars{ID: "0f", Name: "flights"})
	task = job.Task(metrics.TaskVars{VertexID: "v1", Name: "window -> out", AttemptID: "v1/0#0", Subtask: 0})
	constant := func(n int64) func() int64 { return func() int64 { return n } }
	task.ReportTask(metrics.TaskSource{RowsIn: constant(100), InputQueue: constant(3), Mails: constant(0),
		Times: func() (busy, idle, back time.Duration) { return time.Second, 2 * time.Second, 0 }})
	window := task.Operator(metrics.OperatorVars{ID: "aa", Name: "hourly"})
	window.ReportOperator(metrics.OperatorSource{RowsIn: constant(100), RowsOut: constant(7), Late: constant(2),
		WatermarkIn: constant(1357034400000), WatermarkOut: constant(math.MinInt64)})
	out := task.Operator(metrics.OperatorVars{ID: "bb", Name: "out"})
	user := out.Label("table", "a b").Group("x-y")
	user.Counter("written").Add(5)
	user.Gauge("open").Set(1.5)
	h := user.Histogram("bytes")
	for i := range int64(11) {
		h.Update(i)
	}
	return task
}

func scrape(t *testing.T, r *metrics.Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestPrometheusText(t *testing.T) {
	r := newRegistry(io.Discard)
	sample(r)
	got := scrape(t, r)
	const file = "testdata/prometheus.txt"
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%v, got\n%s", err, got)
	}
}

func TestFullNames(t *testing.T) {
	r := newRegistry(io.Discard)
	task := sample(r)
	jm := r.JobManager()
	jm.Gauge(metrics.NumRunningJobs).Set(1)
	jm.Job(metrics.JobVars{ID: "0f", Name: "flights"}).Gauge(metrics.NumRestarts).Set(2)
	values := map[string]float64{}
	for _, m := range r.Metrics() {
		values[m.Full] = m.Value
		if m.Statistics != nil {
			values[m.Full] = float64(m.Statistics.Count)
		}
	}
	for name, want := range map[string]float64{
		"host1.taskmanager.tm1.flights.window -> out.0.numRecordsIn":             100,
		"host1.taskmanager.tm1.flights.window -> out.0.buffers.inputQueueLength": 3,
		"host1.taskmanager.tm1.flights.hourly.0.numLateRecordsDropped":           2,
		"host1.taskmanager.tm1.flights.hourly.0.currentInputWatermark":           1357034400000,
		"host1.taskmanager.tm1.flights.out.0.table.a b.x-y.written":              5,
		"host1.taskmanager.tm1.flights.out.0.table.a b.x-y.bytes":                11,
		"host1.jobmanager.numRunningJobs":                                        1,
		"host1.jobmanager.flights.numRestarts":                                   2,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s = %v (%t), want %v", name, got, ok, want)
		}
	}
	task.Close()
	task.Close()
	task.Operator(metrics.OperatorVars{Name: "late"}).Counter("c").Inc()
	for _, m := range r.Metrics() {
		if m.Scope >= metrics.Task {
			t.Errorf("%s outlives its task", m.Full)
		}
	}
}

func TestRatesFollowTheClock(t *testing.T) {
	r := newRegistry(io.Discard)
	var count int64
	var mu sync.Mutex
	add := func(n int64) { mu.Lock(); count += n; mu.Unlock() }
	task := r.TaskManager().Job(metrics.JobVars{Name: "j"}).Task(metrics.TaskVars{Name: "t"})
	task.ReportTask(metrics.TaskSource{RowsOut: func() int64 { mu.Lock(); defer mu.Unlock(); return count }})
	meter := task.Meter("calls")

	clk := clock.NewVirtual(time.Unix(1000, 0))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx, clk) }()
	for range 2 {
		if err := clk.AwaitPending(ctx, 1); err != nil {
			t.Fatal(err)
		}
		add(500)
		meter.Mark(5)
		clk.Advance(metrics.TickInterval)
	}
	if err := clk.AwaitPending(ctx, 1); err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Metrics() {
		want := map[string]float64{"numRecordsOut": 1000, "numRecordsOutPerSecond": 100, "calls": 1}
		if w, ok := want[m.Name]; ok && m.Value != w {
			t.Errorf("%s = %v, want %v", m.Name, m.Value, w)
		}
	}
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Errorf("Run: %v", err)
	}
}

func TestNamesUsedTwice(t *testing.T) {
	var log bytes.Buffer
	r := newRegistry(&log)
	g := r.TaskManager()
	c, h := g.Counter("a"), g.Group("x").Histogram("h")
	if g.Counter("a") != c || g.Group("x").Histogram("h") != h {
		t.Error("one name, two handles")
	}
	if log.Len() != 0 {
		t.Errorf("logged: %s", &log)
	}
	c.Add(7)
	g.Gauge("a").Set(1) // works and is not reported
	if !strings.Contains(log.String(), "host1.taskmanager.tm1.a") {
		t.Errorf("log: %s", &log)
	}
	// The same name with another kind in another group is right for us, and cannot be shown by Prometheus.
	g.Label("k", "1").Counter("c").Inc()
	g.Label("k", "2").Gauge("c").Set(2)
	r.TaskManager().Counter("a").Add(9) // the same labels again
	if got := scrape(t, r); strings.Count(got, "weir_taskmanager_a{") != 1 {
		t.Error(got)
	}
}

func TestHostileNamesAndFunctions(t *testing.T) {
	r := newRegistry(io.Discard)
	g := r.TaskManager()
	g.Label("", "").Label("__name__", "\xff").Label("host", "other").Label("quantile", "q").Label("9", "\n\"\\").Histogram("né w/{}").Update(1)
	g.Counter("").Inc()
	g.GaugeFunc("panics", func() float64 { panic("user") })
	g.ReportRuntime()
	r.Tick(time.Unix(1, 0))
	got := scrape(t, r)
	for _, want := range []string{`_n__w____count{`, `host="other"`, `weir_taskmanager_panics{host="host1",tm_id="tm1"} NaN`, "weir_taskmanager_Status_JVM_Memory_Heap_Used"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	runtime.GC()
	for _, m := range r.Metrics() {
		if strings.HasPrefix(m.Name, "Status.") && !(m.Value > 0) && m.Name != "Status.JVM.Memory.Heap.Max" {
			t.Errorf("%s = %v: unknown to this version of Go?", m.Name, m.Value)
		}
	}
}

// Groups come and go, handles are updated and everything is read, all at once: for the race detector.
func TestConcurrently(t *testing.T) {
	r := newRegistry(io.Discard)
	job := r.TaskManager().Job(metrics.JobVars{Name: "j"})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 50 {
				task := job.Task(metrics.TaskVars{Name: "t", Subtask: i, Attempt: j})
				c, h := task.Group("g").Counter("c"), task.Histogram("h")
				task.Group("g").Meter("m").Mark(1)
				c.Inc()
				h.Update(int64(j))
				r.Tick(time.Unix(int64(j*100), 0))
				r.Metrics()
				task.Close()
			}
		})
	}
	wg.Wait()
	if n := len(r.Metrics()); n != 0 {
		t.Errorf("%d metrics are left", n)
	}
}

func TestServe(t *testing.T) {
	network := netx.NewMem(clock.Real{})
	ln, err := network.Listen(t.Context(), "host:9249")
	if err != nil {
		t.Fatal(err)
	}
	r := newRegistry(io.Discard)
	sample(r)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Serve(ctx, ln) }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, addr string) (netx.Conn, error) { return network.Dial(ctx, addr) }}}
	for path, want := range map[string]int{"/metrics": 200, "/": 404} {
		resp, err := client.Get("http://host:9249" + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || want == 200 && !bytes.Contains(body, []byte("weir_taskmanager_job_task_operator_numRecordsIn{")) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestNamesAreFlinks compares the catalogue with Flink's documentation: testdata/flink.txt has its rows for the names used
// here, as scope | infix | name | type.
func TestNamesAreFlinks(t *testing.T) {
	data, err := os.ReadFile("testdata/flink.txt")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		f := strings.Split(line, " | ")
		name := f[2]
		if f[1] != "" {
			name = f[1] + "." + name
		}
		for _, scope := range strings.Split(f[0], "/") {
			kinds[scope+" "+strings.Replace(name, "<Collector/All>", "All", 1)] = f[3]
		}
	}
	scopes := map[metrics.Scope][]string{metrics.JobManager: {"JobManager", "Job-"}, metrics.JobManagerJob: {"Job (JM)"},
		metrics.TaskManager: {"TaskManager"}, metrics.Task: {"Task"}, metrics.Operator: {"Operator"}}
	for _, e := range metrics.Catalogue() {
		kind, known := "", false
		for _, s := range scopes[e.Scope] {
			if k, ok := kinds[s+" "+e.Name]; ok {
				kind, known = k, true
			}
		}
		switch {
		case known != (e.Origin == metrics.Flink):
			t.Errorf("%s %s: its origin is said to be %d, in Flink's documentation: %t", e.Scope, e.Name, e.Origin, known)
		case known && kind != e.Kind.String() && !strings.HasSuffix(e.Name, "TimeMsPerSecond"): // Flink mixes gauges and meters there
			t.Errorf("%s %s is a %s in Flink and a %s here", e.Scope, e.Name, kind, e.Kind)
		}
	}
}

func TestDocs(t *testing.T) {
	const file, begin, end = "../../docs/ops/metrics.md", "<!-- catalogue -->\n", "<!-- end -->"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	want := head + begin + metrics.Markdown() + "\n" + end + tail
	switch {
	case !ok || !ok2:
		t.Fatal("the page has no place for the catalogue")
	case *rewrite:
		err = os.WriteFile(file, []byte(want), 0o644)
	case want != string(data):
		t.Error("docs/ops/metrics.md is not what the catalogue says: run go test ./internal/metrics -run TestDocs -rewrite")
	}
	if err != nil {
		t.Fatal(err)
	}
}
