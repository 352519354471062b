package state_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/weirtest"
)

// Payment is what the example's stream is of.
type Payment struct{ Card, ID string }

// once passes on each payment of a card once, though it may come again within an hour of event time.
type once struct{ seen state.Map[string, bool] }

func (f *once) Open(ctx *weir.KeyedContext[string]) error {
	f.seen = ctx.State(state.MapOf[string, bool]("seen").TTL(time.Hour, state.EventTime))
	return nil
}

func (f *once) Process(_ *weir.KeyedContext[string], p Payment, out weir.Out[string]) error {
	if !f.seen.Has(p.ID) {
		f.seen.Put(p.ID, true)
		out.Emit(p.ID)
	}
	return nil
}

// Entries of a map expire one by one, here by the watermark: what was seen is forgotten an hour later.
func ExampleMapDescriptor_TTL() {
	test := func(t testing.TB) { // in a file of tests: func TestOnce(t *testing.T)
		h := weirtest.NewHarness(t, func(in weir.Stream[Payment]) weir.Stream[string] {
			return in.KeyBy(func(p Payment) string { return p.Card }).
				Process("once", func() weir.KeyedProcess[string, Payment, string] { return &once{} })
		})
		at := func(minute int64) time.Time { return time.Unix(60*minute, 0) }
		h.Watermark(at(0))
		h.Push(Payment{"4711", "coffee"}, at(0))
		h.Watermark(at(30))
		h.Push(Payment{"4711", "coffee"}, at(30))
		h.Push(Payment{"4711", "cake"}, at(31))
		h.Watermark(at(60))
		h.Push(Payment{"4711", "coffee"}, at(60)) // an hour after the first one
		h.Push(Payment{"4711", "cake"}, at(61))
		fmt.Println(h.Output())
	}
	runExample(test)
	// Output:
	// [coffee cake coffee]
}

// exampleTB stands for the testing.TB that a test has and an example has not.
type exampleTB struct {
	testing.TB
	cleanups []func()
}

func (t *exampleTB) Helper()                           {}
func (t *exampleTB) Name() string                      { return "example" }
func (t *exampleTB) Output() io.Writer                 { return io.Discard }
func (t *exampleTB) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *exampleTB) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func runExample(test func(t testing.TB)) {
	t := &exampleTB{}
	defer func() {
		for _, f := range t.cleanups {
			f()
		}
	}()
	test(t)
}
