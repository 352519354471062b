// Package weirtest is what users of Weir test their jobs with. It needs nothing but go test.
//
// # A piece of a job, by hand
//
// A [Harness] takes the operators between two streams, any that the API knows, and runs them on the test's goroutine: the
// test pushes rows, moves event time and processing time, and looks at rows, side outputs and counters. [NewHarness2] has
// two inputs. Tasks, chains, exchanges, key hashes and state are those of a real job; what is missing is the control plane
// and chance.
//
//	h := weirtest.NewHarness(t, func(in weir.Stream[Click]) weir.Stream[Count] { return counts(in) })
//	h.Push(Click{"ann"}, time.Unix(1, 0))
//	h.Watermark(time.Unix(60, 0))
//	weirtest.Equal(t, h.Output(), []Count{{"ann", 1}})
//
// [Driver.Snapshot] takes the state of all operators, and a harness with the option [From] begins with it, at any parallelism.
//
// [Variants] runs such steps with batches of one row, two, many, and of random sizes, and compares what comes out.
//
// # A whole job, on virtual time
//
// [Run] runs a job on an embedded cluster in a bubble of testing/synctest, where a day of windows, timers, timeouts and
// retries takes no time. [Begin] does so while the test goes on and feeds a [Source]. [Collect] keeps the rows of a
// stream. [Matrix] runs a job at parallelism 1, 2 and 3, chained and not, in batches of one, two and many rows, and
// compares what comes out.
//
// # Does it survive
//
// [Chaos] runs a whole job undisturbed, and then once for each seed with checkpoints, crashes, restores at another parallelism
// and failing storage, and compares the rows. A seed that fails is printed with the shortest schedule that still fails.
//
// # What virtual time asks for
//
// Time in a bubble moves on when all its goroutines wait for each other, for a timer or for a channel made in the bubble.
// A network connection or a lock held over such a wait stops it: give jobs under test sources and sinks in memory.
// Time begins at [Start].
//
// Invariants: a Driver and its Harness belong to one goroutine. Sources and Collected may be used from any; their locks are
// leaves. Nothing here runs in production: the tests get at the plan through the context of weir.Env.Execute.
package weirtest
