package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/print"
)

// programEnv names the program that this test binary is to be instead of a test: what is measured here are whole processes.
const programEnv = "WEIR_BENCH_PROGRAM"

const tcpRows = 20_000_000

func TestMain(m *testing.M) {
	switch os.Getenv(programEnv) {
	case "first":
		weir.Main(func(env *weir.Env) error {
			weir.From(env, "rows", rows[small]{1000, func(r *small, i int64) { r.A = i }}).
				Map(func(r small) int64 { return r.A * 2 }).To("out", print.Sink[int64]())
			return nil
		})
	case "idle":
		weir.Main(func(env *weir.Env) error {
			weir.From(env, "silence", silence{}).KeyBy(func(r small) int64 { return r.A }).Count("counts").To("out", print.Sink[weir.Keyed[int64, int64]]())
			return nil
		})
	case "stalls":
		measureStalls()
	case "tcp":
		weir.Main(func(env *weir.Env) error {
			env.Parallelism(2)
			// Every row goes to the other process.
			weir.From(env, "rows", rows[wide]{tcpRows, func(r *wide, i int64) { r.A = i * 2 / tcpRows }}).
				PartitionBy(func(r wide, n int) int { return 1 - int(r.A) }).
				To("sink", lockedCount[wide]{new(int64)})
			return nil
		})
	}
	os.Exit(m.Run())
}

// silence is a source that never has anything.
type silence struct{}

func (silence) Name() string                       { return "silence" }
func (silence) Boundedness() connector.Boundedness { return connector.Unbounded }
func (silence) Enumerator(c connector.EnumeratorContext, _ []byte) (connector.Enumerator, error) {
	return &shares{left: c.Parallelism}, nil
}
func (silence) Reader(connector.ReaderContext) (connector.Reader[small], error) { return quiet{}, nil }

type quiet struct{}

func (quiet) AddSplit(connector.Split) error { return nil }
func (quiet) Poll(*connector.Batch[small]) (string, connector.Status, error) {
	return "a", connector.Waiting, nil
}
func (quiet) Wait(ctx context.Context) error       { <-ctx.Done(); return nil }
func (quiet) Pause(map[string]bool)                {}
func (quiet) Snapshot() ([]connector.Split, error) { return nil, nil }
func (quiet) Close() error                         { return nil }

func program(b *testing.B, name string, args ...string) *exec.Cmd {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	c := exec.CommandContext(b.Context(), exe, args...)
	c.Env = append(os.Environ(), programEnv+"="+name)
	return c
}

// BenchmarkFirstRow is the time from the start of a process to the first row that its job prints. Beside it: the start of
// /bin/true.
func BenchmarkFirstRow(b *testing.B) {
	var engine, bare time.Duration
	for b.Loop() {
		c := program(b, "first", "--progress", "none")
		out, err := c.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		engine += time.Since(began)
		if err := c.Wait(); err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
		bare += time.Since(began)
	}
	b.ReportMetric(float64(engine.Microseconds())/1000/float64(b.N), "ms-to-first-row")
	b.ReportMetric(float64(bare.Microseconds())/1000/float64(b.N), "ms-bin-true")
}

// BenchmarkIdle is what a job costs that has nothing to do: resident memory, and CPU time over five seconds.
func BenchmarkIdle(b *testing.B) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		b.Skip("needs /proc")
	}
	for b.Loop() {
		c := program(b, "idle", "--progress", "none")
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		before := cpuTicks(b, c.Process.Pid)
		time.Sleep(5 * time.Second)
		ticks := cpuTicks(b, c.Process.Pid) - before
		b.ReportMetric(float64(statusKB(b, c.Process.Pid, "VmRSS"))/1024, "MB-resident")
		b.ReportMetric(float64(statusKB(b, c.Process.Pid, "RssAnon"))/1024, "MB-anonymous") // the rest is the program
		b.ReportMetric(float64(ticks)/5, "percent-cpu")                                     // a tick is 10 ms
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	}
}

func cpuTicks(b *testing.B, pid int) int64 {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	f := strings.Fields(string(rest))
	user, _ := strconv.ParseInt(f[11], 10, 64)
	sys, _ := strconv.ParseInt(f[12], 10, 64)
	return user + sys
}

func statusKB(b *testing.B, pid int, name string) int64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb
		}
	}
	b.Fatal("no " + name)
	return 0
}

// BenchmarkTCP is a job over two worker processes in which every 80-byte row goes from one to the other. The time is that of
// the whole program, start of all processes included.
func BenchmarkTCP(b *testing.B) {
	var engine time.Duration
	for b.Loop() {
		c := program(b, "tcp", "--workers", "2", "--progress", "none")
		began := time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		engine += time.Since(began)
	}
	n := float64(tcpRows) * float64(b.N)
	b.ReportMetric(n/engine.Seconds()/1e6, "Mrows/s")
}
