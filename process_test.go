package weir_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/state"
)

type visit struct {
	User string
	At   int64 // ms
}

type session struct {
	User        string
	First, Last int64
	Visits      int
}

// sessions closes a user's session when no visit has come for 10 ms.
type sessions struct {
	open state.Value[session]
}

func (f *sessions) Open(ctx *weir.KeyedContext[string]) error {
	f.open = ctx.State(state.ValueOf[session]("open"))
	return nil
}

func (f *sessions) Process(ctx *weir.KeyedContext[string], v visit, out weir.Out[session]) error {
	s, ok := f.open.Get()
	if ok {
		ctx.DeleteEventTimer(time.UnixMilli(s.Last + 10))
	}
	if ok && v.At-s.Last >= 10 { // the timer has not fired yet
		out.EmitAt(s, time.UnixMilli(s.Last))
		ok = false
	}
	if !ok {
		s = session{User: ctx.Key(), First: v.At}
	}
	s.Last, s.Visits = v.At, s.Visits+1
	f.open.Set(s)
	ctx.RegisterEventTimer(time.UnixMilli(s.Last + 10))
	ctx.Metrics().Counter("visits").Inc()
	return nil
}

func (f *sessions) OnTimer(ctx *weir.KeyedContext[string], t weir.Timer, out weir.Out[session]) error {
	s, _ := f.open.Get()
	f.open.Clear()
	out.Emit(s)
	return nil
}

func TestKeyedProcessSessions(t *testing.T) {
	visits := []visit{{"ann", 0}, {"bob", 3}, {"ann", 9}, {"ann", 25}, {"bob", 26}, {"bob", 27}}
	want := []session{{"ann", 0, 9, 2}, {"ann", 25, 25, 1}, {"bob", 3, 3, 1}, {"bob", 26, 27, 2}}
	for _, p := range []int{1, 2, 3} {
		env := weir.NewEnv("sessions").Parallelism(p)
		got := slices.Collect(weir.From(env, "visits", slice.Of(visits...),
			weir.EventTime(func(v visit) time.Time { return time.UnixMilli(v.At) })).
			Parallelism(1).
			KeyBy(func(v visit) string { return v.User }).
			Process("sessions", func() weir.KeyedProcess[string, visit, session] { return &sessions{} }).
			Collect(context.Background()))
		slices.SortFunc(got, func(a, b session) int {
			if a.User != b.User {
				if a.User < b.User {
					return -1
				}
				return 1
			}
			return int(a.First - b.First)
		})
		if !slices.Equal(got, want) {
			t.Errorf("parallelism %d: got %v, want %v", p, got, want)
		}
	}
}
