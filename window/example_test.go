package window_test

import (
	"fmt"
	"time"

	"github.com/weir-stream/weir/window"
)

func Example() {
	type ride struct{ patience time.Duration }

	hourly := window.Tumbling(time.Hour).AllowedLateness(time.Minute)
	fmt.Println(hourly)

	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		fmt.Println(err)
		return
	}
	days := window.Days(1).In(newYork).Trigger(window.OnEventTime().Early(window.EveryProcessingTime(time.Second)))
	fmt.Println(days)

	visits := window.SessionDynamic(func(r ride) time.Duration { return r.patience })
	_, err = window.Bind[int](visits)
	fmt.Println(err)
	// Output:
	// tumbling(1h0m0s) lateness 1m0s
	// tumbling(1 days) in America/New_York trigger onEventTime early everyProcessingTime(1s)
	// window session(func(window_test.ride)): the gap function takes window_test.ride, and the stream has int: write it for the type of the stream, or map the stream first
}
