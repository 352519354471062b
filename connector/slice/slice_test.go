package slice_test

import (
	"context"
	"fmt"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
)

func ExampleOf() {
	env := weir.NewEnv("words").Parallelism(1)
	words := weir.From(env, "words", slice.Of("to", "be", "or", "not")).Filter(func(w string) bool { return len(w) == 2 })
	for w := range words.Collect(context.Background()) {
		fmt.Println(w)
	}
	// Output:
	// to
	// be
	// or
}
