package weir_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/window"
)

type impression struct {
	Ad string
	At time.Time
}

type adClick struct {
	Ad   string
	User string
	At   time.Time
}

// ads returns what was shown and what was clicked, by advertisement.
func ads(env *weir.Env) (weir.KeyedStream[string, impression], weir.KeyedStream[string, adClick]) {
	at := func(sec int) time.Time { return time.Date(2024, 3, 1, 12, 0, sec, 0, time.UTC) }
	shown := weir.From(env, "shown", slice.Of(impression{"boots", at(0)}, impression{"tea", at(5)}, impression{"boots", at(40)}),
		weir.EventTime(func(i impression) time.Time { return i.At }))
	clicked := weir.From(env, "clicked", slice.Of(adClick{"boots", "ann", at(3)}, adClick{"tea", "bob", at(50)}),
		weir.EventTime(func(c adClick) time.Time { return c.At }))
	return shown.KeyBy(func(i impression) string { return i.Ad }), clicked.KeyBy(func(c adClick) string { return c.Ad })
}

// Each impression with the clicks on it within ten seconds, or without one.
func ExampleKeyedStream_JoinInterval() {
	env := weir.NewEnv("ads")
	shown, clicked := ads(env)
	lines := shown.JoinInterval("clicks on it", clicked, 0, 10*time.Second).
		LeftOuter(func(i impression, c *adClick) string {
			if c == nil {
				return fmt.Sprintf("%s %s: no click", i.At.Format(time.TimeOnly), i.Ad)
			}
			return fmt.Sprintf("%s %s: clicked by %s", i.At.Format(time.TimeOnly), i.Ad, c.User)
		})
	for line := range lines.Collect(context.Background()) {
		fmt.Println(line)
	}
	// Unordered output:
	// 12:00:00 boots: clicked by ann
	// 12:00:05 tea: no click
	// 12:00:40 boots: no click
}

// How often an advertisement was shown and clicked in each half minute.
func ExampleKeyedStream_JoinWindow() {
	env := weir.NewEnv("ads")
	shown, clicked := ads(env)
	lines := shown.JoinWindow("per half minute", clicked, window.Tumbling(30*time.Second)).
		CoGroup(func(ad string, w window.Window, shown []impression, clicked []adClick, out weir.Out[string]) {
			out.Emit(fmt.Sprintf("%s %s: %d of %d", w.StartTime().Format(time.TimeOnly), ad, len(clicked), len(shown)))
		})
	for line := range lines.Collect(context.Background()) {
		fmt.Println(line)
	}
	// Unordered output:
	// 12:00:00 boots: 1 of 1
	// 12:00:00 tea: 0 of 1
	// 12:00:30 boots: 0 of 1
	// 12:00:30 tea: 1 of 0
}
