// Hello counts words in windows of ten seconds of event time.
package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/print"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/window"
)

type line struct {
	Second int64
	Text   string
}

func main() { weir.Main(build) }

func build(env *weir.Env) error {
	lines := slice.Of(line{0, "to be or not to be"}, line{12, "that is the question"}, line{7, "or not"})
	weir.From(env, "lines", lines,
		weir.EventTime(func(l line) time.Time { return time.Unix(l.Second, 0) }, weir.OutOfOrder(10*time.Second))).
		FlatMap(func(l line, emit func(string)) {
			for _, word := range strings.Fields(l.Text) {
				emit(word)
			}
		}).
		KeyBy(func(word string) string { return word }).
		Window("counts", window.Tumbling(10*time.Second)).
		Aggregate(weir.Count[string]()).
		Map(func(w weir.Windowed[string, int64]) string {
			return fmt.Sprintf("%s %-8s %d", w.Start().Format("15:04:05"), w.Key, w.Value)
		}).
		To("out", print.Sink[string]())
	return nil
}
