package weir_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/blackhole"
	"github.com/weir-stream/weir/connector/channel"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/metrics"
	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/metric"
)

// listening tells the address that a job has begun to listen on.
type listening struct {
	netx.Network
	addr chan string
}

func (l listening) Listen(ctx context.Context, addr string) (netx.Listener, error) {
	ln, err := l.Network.Listen(ctx, addr)
	if err == nil {
		l.addr <- ln.Addr().String()
	}
	return ln, err
}

// runServed runs env's job with metrics on a free port, and returns where they are and what waits for the end of the job.
func runServed(t *testing.T, env *weir.Env) (url string, end func()) {
	t.Helper()
	l := listening{netx.Real{}, make(chan string, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ctx = app.WithRunner(ctx, func(ctx context.Context, w app.World, plan *app.Plan) (*app.Result, error) {
		w.Network, w.Host = l, "here"
		return app.Run(ctx, w, plan, app.RunOptions{})
	})
	failed := make(chan error, 1)
	go func() {
		_, err := env.Set("metrics.address", "127.0.0.1:0").Execute(ctx)
		failed <- err
	}()
	select {
	case addr := <-l.addr:
		url = "http://" + addr + "/metrics"
	case err := <-failed:
		t.Fatal(err)
	}
	return url, func() {
		cancel()
		if err := <-failed; err == nil || !strings.Contains(err.Error(), "cancelled") {
			t.Errorf("the job ended with %v", err)
		}
	}
}

// sample is one line of Prometheus' text form.
type sample struct {
	name, labels string
	value        float64
}

var line = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} (\S+)$`)

func scrape(t *testing.T, url string) (all []sample) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: %s", resp.Status, body)
	}
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		if strings.HasPrefix(in.Text(), "#") {
			continue
		}
		m := line.FindStringSubmatch(in.Text())
		if m == nil {
			t.Fatalf("no sample: %s", in.Text())
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sample{m[1], m[2], v})
	}
	return all
}

// sum adds up the samples of that name whose labels have all of those given.
func sum(all []sample, name string, labels ...string) (v float64) {
	found := false
	for _, s := range all {
		ok := s.name == name
		for _, l := range labels {
			ok = ok && strings.Contains(","+s.labels+",", ","+l+",")
		}
		if ok {
			found, v = true, v+s.value
		}
	}
	if !found {
		return -1
	}
	return v
}

// tally counts what it passes on, in all and by remainder, in every form of a metric.
type tally struct {
	all, thirds *metric.Counter
	sizes       *metric.Histogram
	held        atomic.Int64
}

func (f *tally) Open(ctx *weir.KeyedContext[int64]) error {
	m := ctx.Metrics()
	f.all, f.thirds = m.Counter("seen"), m.Group("by").Label("divisor", "3").Counter("seen")
	f.sizes = m.Histogram("size")
	m.GaugeFunc("held", func() float64 { return float64(f.held.Load()) })
	return nil
}

func (f *tally) Process(_ *weir.KeyedContext[int64], v int64, out weir.Out[int64]) error {
	f.all.Inc()
	if v%3 == 0 {
		f.thirds.Inc()
	}
	f.sizes.Update(v)
	f.held.Add(v)
	out.Emit(v)
	return nil
}

func TestMetricsOfARunningJob(t *testing.T) {
	const n = 1200
	rows := make(chan int64)
	env := weir.NewEnv("count").Parallelism(2).Set("execution.checkpointing.interval", "1 h")
	weir.From(env, "numbers", channel.Source(rows), weir.EventTime(func(v int64) time.Time {
		if v%100 == 0 {
			return time.Time{} // 12 of them have none
		}
		return time.UnixMilli(v)
	})).Parallelism(1).
		Filter(func(v int64) bool { return v%2 == 0 }).Name("even").
		KeyBy(func(v int64) int64 { return v % 8 }).
		Process("tally", func() weir.KeyedProcess[int64, int64, int64] { return &tally{} }).
		To("out", blackhole.Sink[int64]())
	url, end := runServed(t, env)
	defer end()
	for v := range int64(n) {
		rows <- v + 1
	}
	// The even ones of 1..1200 with a time: 600 - 12.
	const even = 588
	var all []sample
	deadline := time.Now().Add(30 * time.Second)
	for {
		all = scrape(t, url)
		const op = "weir_taskmanager_job_task_operator_"
		if sum(all, op+"numRecordsIn", `operator_name="out"`) == even && sum(all, "weir_jobmanager_job_operator_numRecordsIn", `operator="out"`) == even {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("out has taken %v rows", sum(all, op+"numRecordsIn", `operator_name="out"`))
		}
	}
	multiplesOf6, sumOfEven := 0, 0
	for v := 2; v <= n; v += 2 {
		if v%100 != 0 {
			sumOfEven += v
			if v%3 == 0 {
				multiplesOf6++
			}
		}
	}
	const op, task, job = "weir_taskmanager_job_task_operator_", "weir_taskmanager_job_task_", "weir_jobmanager_job_"
	for _, c := range []struct {
		want   int
		name   string
		labels []string
	}{
		{n, op + "numRecordsIn", []string{`operator_name="numbers"`, `host="here"`, `tm_id="embedded"`, `job_name="count"`}},
		{n - 12, op + "numRecordsOut", []string{`operator_name="numbers"`}},
		{12, op + "numRecordsNoTime", []string{`operator_name="numbers"`}},
		{0, op + "numRecordsInErrors", []string{`operator_name="numbers"`}},
		{n - 12, op + "numRecordsIn", []string{`operator_name="even"`}},
		{even, op + "numRecordsOut", []string{`operator_name="even"`}},
		{even, op + "numRecordsIn", []string{`operator_name="tally"`}},
		{even, op + "numRecordsOut", []string{`operator_name="tally"`}},
		{even, op + "seen", []string{`operator_name="tally"`}},
		{multiplesOf6, op + "by_divisor_seen", []string{`divisor="3"`}},
		{sumOfEven, op + "held", nil},
		{sumOfEven, op + "size_sum", nil},
		{even, op + "size_count", nil},
		{n, task + "numRecordsIn", []string{`task_id="v0"`}},
		{n - 12, task + "numRecordsOut", []string{`task_id="v0"`}},
		{n - 12, task + "numRecordsIn", []string{`task_id="v1"`}},
		{even, task + "numRecordsOut", []string{`task_id="v1"`}},
		{even, task + "numRecordsIn", []string{`task_id="v2"`}},
		{0, task + "buffers_inputQueueLength", nil},
		{0, task + "isBackPressured", nil},
		{n, job + "operator_numRecordsIn", []string{`operator="numbers"`}},
		{12, job + "operator_numRecordsNoTime", nil},
		{even, job + "operator_numRecordsIn", []string{`operator="tally"`}},
		{even, job + "operator_user_seen", nil},
		{multiplesOf6, job + "operator_user_by_divisor_3_seen", nil},
		{0, job + "numRestarts", nil},
		{0, job + "totalNumberOfCheckpoints", nil},
		{-1, job + "lastCompletedCheckpointId", nil},
		{1, "weir_jobmanager_numRunningJobs", nil},
		{1, "weir_jobmanager_numRegisteredTaskManagers", nil},
	} {
		// A counter of a function is in the sums from the scrape on after the one that found it.
		got := sum(all, c.name, c.labels...)
		if strings.Contains(c.name, "_user_") || strings.HasSuffix(c.name, "Time") {
			got = sum(scrape(t, url), c.name, c.labels...)
		}
		if got != float64(c.want) {
			t.Errorf("%s%v = %v, want %d", c.name, c.labels, got, c.want)
		}
	}
	// What the tasks of one vertex have sent those of the next have taken, batch by batch.
	for from, to := range map[string]string{`task_id="v0"`: `task_id="v1"`, `task_id="v1"`: `task_id="v2"`} {
		if sent, taken := sum(all, task+"numBuffersOut", from), sum(all, task+"numBuffersInLocal", to); sent != taken || sent < 1 {
			t.Errorf("%v batches sent, %v taken", sent, taken)
		}
	}
	// 1199 is the last row with a time, of a source whose watermark is 1 ms behind.
	if got := sum(all, op+"currentOutputWatermark", `operator_name="numbers"`); got != 1198 {
		t.Errorf("the source's watermark is %v", got)
	}
	for _, s := range all {
		if !strings.HasPrefix(s.name, "weir_") {
			t.Errorf("%s is no name of ours", s.name)
		}
	}
	checkCatalogue(t, all)
}

// checkCatalogue compares what a job in one process registers with the catalogue: the names of both are the same.
func checkCatalogue(t *testing.T, all []sample) {
	t.Helper()
	registered := map[string]bool{}
	for _, s := range all {
		registered[s.name] = true
	}
	remote := []string{metrics.NumBuffersInRemote, metrics.NumBytesInRemote, metrics.NumBytesOut}
	dots := strings.NewReplacer(".", "_", "operator.<operator>.", "operator_")
	known := map[string]bool{}
	for _, e := range metrics.Catalogue() {
		name := "weir_" + e.Scope.String() + "_" + dots.Replace(strings.Replace(e.Name, ".<operator>", "", 1))
		known[name] = true
		skip := strings.Contains(e.Name, "<counter>")
		for _, r := range remote {
			skip = skip || e.Scope == metrics.Task && strings.HasPrefix(e.Name, r)
		}
		if !skip && !registered[name] {
			t.Errorf("%s is in the catalogue, and no job reports it", name)
		}
	}
	users := regexp.MustCompile(`^weir_taskmanager_job_task_operator_(seen|by_|size|held)|_user_`)
	for name := range registered {
		if !known[name] && !users.MatchString(name) {
			t.Errorf("%s is reported, and the catalogue does not know it", name)
		}
	}
}

func TestMetricsOfAnUnboundedGenerator(t *testing.T) {
	env := weir.NewEnv("endless").Parallelism(1)
	weir.From(env, "numbers", generator.Of(func(i int64) int64 { return i })).
		Filter(func(v int64) bool { return v%5 == 0 }).Name("fifth").To("out", blackhole.Sink[int64]())
	url, end := runServed(t, env)
	defer end()
	const op = "weir_taskmanager_job_task_operator_"
	last := 0.0
	for range 5 {
		var all []sample
		for in := last; in <= last; { // until it has moved on
			all = scrape(t, url)
			in = sum(all, op+"numRecordsIn", `operator_name="fifth"`)
		}
		in, out := sum(all, op+"numRecordsIn", `operator_name="fifth"`), sum(all, op+"numRecordsOut", `operator_name="fifth"`)
		// The batch under way is counted on one side and not yet on the other, and one scrape reads the two at two moments.
		if in < last || out < last/5-1000 {
			t.Fatalf("%v rows in after %v, %v out", in, last, out)
		}
		last = in
	}
	all := scrape(t, url)
	busy, idle, back := sum(all, "weir_taskmanager_job_task_accumulateBusyTimeMs"), sum(all, "weir_taskmanager_job_task_accumulateIdleTimeMs"),
		sum(all, "weir_taskmanager_job_task_accumulateBackPressuredTimeMs")
	if busy <= 0 || idle < 0 || back != 0 {
		t.Errorf("busy %v ms, idle %v ms, backpressured %v ms", busy, idle, back)
	}
}

func TestMetricsAddressThatCannotBe(t *testing.T) {
	ln, err := netx.Real{}.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for addr, want := range map[string]string{"9249": "HOST:PORT is expected", ln.Addr().String(): "choose a free port"} {
		env := weir.NewEnv("never").Parallelism(1).Set("metrics.address", addr)
		weir.From(env, "numbers", generator.Of(func(i int64) int64 { return i })).To("out", blackhole.Sink[int64]())
		if _, err := env.Execute(t.Context()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "metrics.address") {
			t.Errorf("%s: %v, want %q", addr, err, want)
		}
	}
}
