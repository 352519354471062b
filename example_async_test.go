package weir_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
)

// country stands for a service that is slow and fails now and then.
func country(ctx context.Context, city string) (string, error) {
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	switch city {
	case "Lyon":
		return "France", nil
	case "Porto":
		return "Portugal", nil
	}
	return "", errors.New("unknown city")
}

func ExampleStream_AsyncMapOr() {
	env := weir.NewEnv("cities")
	cities := weir.From(env, "cities", slice.Of("Lyon", "Atlantis", "Porto")).Parallelism(1)
	lines := cities.AsyncMapOr("country", weir.Async{
		Capacity: 50,
		Timeout:  10 * time.Second,
		Retry:    weir.Retry{Attempts: 3, Backoff: weir.ExponentialBackoff(time.Millisecond, time.Second, 2)},
	}, func(ctx context.Context, city string) (string, error) {
		c, err := country(ctx, city)
		return city + ": " + c, err
	}, func(city string, err error) (string, error) {
		return city + ": " + err.Error(), nil // after the last attempt
	}).Parallelism(1)
	for line := range lines.Collect(context.Background()) {
		fmt.Println(line)
	}
	// Output:
	// Lyon: France
	// Atlantis: unknown city
	// Porto: Portugal
}

func ExampleStream_FullPartition() {
	env := weir.NewEnv("cities")
	cities := weir.From(env, "cities", slice.Of("Lyon", "Atlantis", "Porto")).Parallelism(1)
	for city := range cities.FullPartition("by name").Sort(cmp.Compare[string]).Parallelism(1).Collect(context.Background()) {
		fmt.Println(city)
	}
	// Output:
	// Atlantis
	// Lyon
	// Porto
}
