package function_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/function"
)

// A function emits rows; another one takes what the job makes of them.
func Example() {
	var sum atomic.Int64
	env := weir.NewEnv("sum")
	numbers := function.Source(func(_ context.Context, emit func(int64) error) error {
		for i := range int64(1000) {
			if err := emit(i); err != nil {
				return err
			}
		}
		return nil
	}, function.Bounded())
	weir.From(env, "numbers", numbers).
		Filter(func(n int64) bool { return n%2 == 0 }).
		To("sum", function.Sink(func(_ context.Context, n int64) error { sum.Add(n); return nil }))
	if _, err := env.Execute(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(sum.Load())
	// Output: 249500
}
