// Package bench measures the engine through its public API, each time beside a hand-written loop that does the same work
// without an engine, in the same run. What counts is the ratio of the two (the metric x-bare): absolute figures depend on the
// machine. RESULTS.md holds figures with the machine they were taken on.
//
//	make bench                                     everything
//	go test -bench Pipeline -cpu 1 ./bench/        one of them, on one core
package bench
