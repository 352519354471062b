package windowop

import (
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/window"
)

// bomb is a trigger that panics in one of its methods.
type bomb struct{ in string }

func (b bomb) at(method string) {
	if b.in == method {
		panic("boom")
	}
}

func (b bomb) OnElement(_ bid, _ int64, w window.Window, ctx window.Context[bid]) window.Result {
	b.at("OnElement")
	ctx.SetTimer(window.EventTime, w.MaxTimestamp())
	ctx.SetTimer(window.ProcessingTime, 50)
	return window.Continue
}

func (b bomb) OnEventTime(int64, window.Window, window.Context[bid]) window.Result {
	b.at("OnEventTime")
	return window.Fire
}

func (b bomb) OnProcessingTime(int64, window.Window, window.Context[bid]) window.Result {
	b.at("OnProcessingTime")
	return window.Continue
}

func (b bomb) OnMerge(window.Window, []*window.State, window.Context[bid]) { b.at("OnMerge") }
func (b bomb) Clear(window.Window, window.Context[bid])                    { b.at("Clear") }

// A panic in any of the user's functions fails the task with an error that names the operator, the function, and the row, or
// the key and the window, at work.
func TestPanicsNameTheirPlace(t *testing.T) {
	ten := window.Tumbling(10 * time.Millisecond)
	trigger := func(in string) window.Spec {
		return window.Session(ms(5)).Trigger(window.Custom[bid]("bomb", bomb{in}))
	}
	evictor := window.EvictWith("bomb", func(*window.Elements[bid], window.Moment) { panic("boom") })
	row, sessionA, tenA := "{Key:a N:2}", "key a, window [1970-01-01T00:00:00.001Z, 1970-01-01T00:00:00.013Z)", "key a, window [1970-01-01T00:00:00Z, 1970-01-01T00:00:00.01Z)"
	for _, c := range []struct {
		name  string
		spec  window.Spec
		in    string // the function of the aggregation that panics
		whole bool
		want  []string
	}{
		{"key", ten, "Key", false, []string{row}},
		{"key, general", ten, "Key", true, []string{"the key function", row}},
		{"key, sessions", window.Session(ms(5)), "Key", false, []string{row}},
		{"gap", window.SessionDynamic(func(bid) time.Duration { panic("boom") }), "", true, []string{"the gap function", row}},
		{"gap, sessions", window.SessionDynamic(func(bid) time.Duration { panic("boom") }), "", false, []string{row}},
		{"OnElement", trigger("OnElement"), "", false, []string{"the trigger's OnElement", "key a", row}},
		{"OnEventTime", trigger("OnEventTime"), "", false, []string{"the trigger's OnEventTime", sessionA}},
		{"OnProcessingTime", trigger("OnProcessingTime"), "", false, []string{"the trigger's OnProcessingTime", sessionA}},
		{"OnMerge", trigger("OnMerge"), "", false, []string{"the trigger's OnMerge", "key a", "{Key:a N:3}"}},
		{"Clear", trigger("Clear"), "", false, []string{"the trigger's Clear", "key a", "{Key:a N:3}"}},
		{"evictor before", ten.Evictor(evictor), "", false, []string{"the evictor", tenA}},
		{"evictor after", ten.Evictor(evictor.After()), "", true, []string{"the evictor", tenA}},
		{"delta", ten.Trigger(window.OnDelta(1, func(_, _ bid) float64 { panic("boom") })), "", false, []string{"the trigger's OnElement", "{Key:a N:3}"}},
		{"Add", ten, "Add", false, []string{row}},
		{"Add, sessions", window.Session(ms(5)), "Add", false, []string{row}},
		{"Add, general", trigger(""), "Add", false, []string{"the aggregation's Add", row}},
		{"Merge", window.Sliding(ms(10), ms(5)), "Merge", false, []string{"window [1970-01-01T00:00:00Z, 1970-01-01T00:00:00.01Z)"}},
		{"Merge, sessions", window.Session(ms(2)), "Merge", false, []string{"{Key:a N:5}"}},
		{"Merge, general", window.Session(ms(2)).Trigger(window.Custom[bid]("bomb", bomb{})), "Merge", false, []string{"the aggregation's Merge", "{Key:a N:5}"}},
		{"Result", ten, "Result", false, []string{tenA}},
		{"Result, sessions", window.Session(ms(5)), "Result", false, []string{sessionA}},
		{"Result, general", trigger(""), "Result", false, []string{"the aggregation's Result", sessionA}},
		{"window function", ten, "Process", true, []string{"the window function", tenA}},
		{"Open", ten, "Open", true, []string{"in Open"}},
		{"making", ten, "making", true, []string{"the function's making"}},
	} {
		for _, batch := range []int{1, 0} {
			err := explode(t, bombOp(t, c.spec, c.in, c.whole), batch)
			if err == nil {
				t.Errorf("%s: no error", c.name)
				continue
			}
			if errs.CodeOf(err) != errs.CodeUserPanic {
				t.Errorf("%s: code %s", c.name, errs.CodeOf(err))
			}
			for _, part := range append(c.want, "op (1/1)", "panic: boom") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s, batches of %d: %q is missing in\n%v", c.name, batch, part, err)
				}
			}
		}
	}
}

// explode drives an operator until it fails.
func explode(t *testing.T, op operator.Operator, batch int) (err error) {
	h := optest.New(op)
	h.BatchRows = batch
	defer func() {
		if cerr := op.Close(); err == nil {
			err = cerr
		}
	}()
	if err := h.Open(); err != nil {
		return err
	}
	rows := []optest.Row[bid]{at("a", 2, 1), at("a", 3, 5), at("a", 4, 8), at("a", 5, 7), at("a", 6, 9)}
	if err := optest.Feed(h, 0, hashBids, rows[:3]...); err != nil {
		return err
	}
	if err := optest.Feed(h, 0, hashBids, rows[3:4]...); err != nil {
		return err
	}
	if err := h.Advance(100); err != nil {
		return err
	}
	return h.Watermark(20)
}

func bombOp(t *testing.T, spec window.Spec, in string, whole bool) operator.Operator {
	t.Helper()
	b, err := window.Bind[bid](spec)
	must(t, err)
	kc, err := codec.KeyFor[string]()
	must(t, err)
	at := func(function string) {
		if function == in {
			panic("boom")
		}
	}
	cfg := Config[string, bid, int64, int64, string]{Window: b, Key: func(v bid) string { at("Key"); return v.Key }, Keys: kc,
		Make: func(k string, w window.Window, n int64) string { return fmt.Sprint(k, w, n) },
		Aggregate: Aggregate[bid, int64, int64]{
			Add:    func(a *int64, v bid) { at("Add"); *a += v.N },
			Merge:  func(a, from *int64) { at("Merge"); *a += *from },
			Result: func(a *int64) int64 { at("Result"); return *a },
		}}
	if !whole {
		return New(cfg)
	}
	return NewGeneral(GeneralConfig[string, bid, string]{Window: b, Key: cfg.Key, Keys: kc,
		Function: Whole(func(*Call[string], *basic.Outlet[string]) Hooks[iter.Seq[bid]] {
			at("making")
			return Hooks[iter.Seq[bid]]{
				Open: func() error { at("Open"); return nil },
				Fire: func(iter.Seq[bid]) error { at("Process"); return nil },
			}
		})})
}
