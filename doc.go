// Package weir is the typed DataStream API of the Weir stream engine.
//
// A program is a build function that describes a job on an Env; Main runs it:
//
//	func main() { weir.Main(build) }
//
//	func build(env *weir.Env) error {
//		words := weir.From(env, "words", slice.Of("a", "b", "a"))
//		words.
//			KeyBy(func(w string) string { return w }).
//			Count("counts").
//			To("out", print.Sink[weir.Keyed[string, int64]]())
//		return nil
//	}
//
// Nothing runs while build runs: the calls on streams only add operators to a plan. The same program, started as a worker
// process, runs build again to get its functions back; so build must describe the same job each time.
//
// # Streams
//
// A Stream[T] is a stream of rows of type T, a KeyedStream[K, T] one whose rows are grouped by a key, so that operators can
// keep state by key. User functions take and return values; they are called by one goroutine at a time for each subtask, so
// the fields of a function object need no lock, and captured variables are shared between subtasks and do.
//
// Operators that keep state are given a name by their author, the first argument of the call that makes them. State is
// found by that name for ever.
//
// # Time
//
// A row's event time is what the EventTime option of From extracts. Watermarks say how far event time has come; a row is late if
// its time is at or below the watermark. Late rows, rows without event time and records that fail to decode are
// counted by reason, and can be had as side outputs.
package weir
