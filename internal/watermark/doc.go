// Package watermark merges the watermarks of several inputs into one, makes them from the rows of splits, and decides
// which splits of a reader must wait.
//
// Watermark t says that no row with a time <= t will come. Two machines deal with it:
//
//   - [Merger] sits in front of an operator and merges the watermarks of its input channels. The result is the minimum over
//     inputs that are not idle, and never falls. When the last active input becomes idle, the maximum over all inputs is
//     released first. An input that returns from idleness behind the result does not hold it back until it has caught up.
//   - [Splits] sits in a source's reader. It has a [Generator] for each split, and the result is the minimum over splits
//     that are not idle. Here a split that lies behind does hold the result back, since its rows would be late otherwise.
//     Splits.Align pauses those that are further ahead than the coordinator allows.
//
// The package is pure: time comes in as an argument, nothing is locked, no goroutine is started. A value belongs to one
// goroutine. Every step returns what is to be done as a [Change]; the same steps give the same changes.
//
// Times are milliseconds since the Unix epoch. [None] is the watermark before the first one, [Final] the last one, which
// says that the input has ended.
package watermark
