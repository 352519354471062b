package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/channel"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/state"
)

// visit is a row of the job below.
type visit struct {
	Who    string
	Minute int64
}

// visits keeps one state of each kind, all with an hour to live in event time, and says what it sees at each row.
type visits struct {
	count state.Value[int64]
	note  state.Value[string]
	sum   state.Reducing[int64]
	most  state.Aggregating[int64, int64, int64]
	times state.List[int64]
	seen  state.Map[int64, bool]
}

func (f *visits) Open(ctx *weir.KeyedContext[string]) error {
	f.count = ctx.State(state.ValueOf[int64]("count").TTL(time.Hour, state.EventTime))
	f.note = ctx.State(state.ValueOf[string]("note").TTL(time.Hour, state.EventTime, state.RefreshOnRead))
	f.sum = ctx.State(state.ReducingOf("sum", func(a, b int64) int64 { return a + b }).TTL(time.Hour, state.EventTime))
	f.most = ctx.State(state.AggregatingOf("most", func(acc *int64, x int64) { *acc = max(*acc, x) }, func(acc *int64) int64 { return *acc }).
		TTL(time.Hour, state.EventTime))
	f.times = ctx.State(state.ListOf[int64]("times").TTL(time.Hour, state.EventTime))
	f.seen = ctx.State(state.MapOf[int64, bool]("seen").TTL(time.Hour, state.EventTime))
	return nil
}

func (f *visits) Process(ctx *weir.KeyedContext[string], v visit, out weir.Out[string]) error {
	note, _ := f.note.Get() // each read keeps it alive
	sum, _ := f.sum.Get()
	most, _ := f.most.Get()
	out.Emit(fmt.Sprint(v.Minute, " ", f.count.Or(0), " ", note, " ", sum, " ", most, " ", slices.Collect(f.times.All()), " ", f.seen.Len()))
	if v.Minute >= 100 && v.Minute < 1000 {
		return nil
	}
	f.count.Update(func(n *int64) { *n++ })
	if note == "" {
		f.note.Set("from " + fmt.Sprint(v.Minute))
	}
	f.sum.Add(v.Minute)
	f.most.Add(v.Minute)
	f.times.Add(v.Minute)
	f.seen.Put(v.Minute, true)
	return nil
}

// What a job sees of states that expire, worked out by hand, with every backend. At a row the watermark is a millisecond
// before the row before it, and there is none at the first row: what that writes gets its age at the second.
func TestTimeToLiveInAJob(t *testing.T) {
	rows := []visit{{"a", 1}, {"a", 30}, {"a", 59}, {"a", 100}, {"a", 150}, {"a", 200}, {"a", 2000}, {"a", 2001}}
	want := []string{
		"1 0  0 0 [] 0",
		"30 1 from 1 1 1 [1] 1",
		"59 2 from 1 31 30 [1 30] 2",
		"100 3 from 1 90 59 [1 30 59] 3",
		"150 0 from 1 0 0 [] 0", // the last write was at 30, the last read at 59
		"200 0 from 1 0 0 [] 0",
		"2000 0 from 1 0 0 [] 0", // writes again, at 200
		"2001 0  0 0 [] 0",
	}
	// Each is gone twice, at 150 and at 2001; the note once.
	expired := map[string]int64{"count": 2, "note": 1, "sum": 2, "most": 2, "times": 3 + 1, "seen": 3 + 1}
	for _, backend := range []string{"paged", "lsm", "model"} {
		t.Run(backend, func(t *testing.T) {
			env := weir.NewEnv("visits").Set("state.backend.type", backend).Set("state.backend.local-dir", t.TempDir()).
				Set("execution.batch-size", "1").Set("pipeline.auto-watermark-interval", "0 ms").Parallelism(1)
			seen := make(chan string, len(rows))
			weir.From(env, "rows", slice.Of(rows...), weir.EventTime(func(v visit) time.Time { return time.Unix(60*v.Minute, 0) })).
				KeyBy(func(v visit) string { return v.Who }).
				Process("visits", func() weir.KeyedProcess[string, visit, string] { return &visits{} }).
				To("out", channel.Sink(seen))
			r, err := env.Execute(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for len(seen) > 0 {
				got = append(got, <-seen)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s", strings.Join(got, "\n"))
			}
			op, _ := r.Operator("visits")
			for name, n := range expired {
				if c := op.Counters["state."+name+".numExpired"]; c != n {
					t.Errorf("%s: %d units have expired, want %d", name, c, n)
				}
			}
		})
	}
}
