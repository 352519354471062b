// Package metric holds what a program measures with: counters, gauges, meters and histograms, and the Group in which they
// are found by name.
//
// Handles are got once, when a function is opened, and used for ever: a Group call takes a lock, an update takes none and
// allocates nothing. The methods of all handles may be called from any goroutine. A counter that one goroutine updates for
// every row should be updated through a Local, which costs a plain addition a row and one atomic one a batch.
//
// Scopes, exporters and names of the engine's own metrics are internal/metrics' business; see docs/design/metrics.md.
package metric
