package generator_test

import (
	"context"
	"fmt"
	"os"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/connector/print"
)

func ExampleOf() {
	env := weir.NewEnv("squares").Parallelism(1).Output(os.Stdout)
	weir.From(env, "squares", generator.Of(func(i int64) int64 { return i * i }, generator.Count(4))).
		To("out", print.Sink[int64](print.Label("square")))
	if _, err := env.Execute(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// square> 0
	// square> 1
	// square> 4
	// square> 9
}
