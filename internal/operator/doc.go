// Package operator defines the seam between the task that drives an operator and the operator itself, and nothing of
// either.
//
// All methods of an Operator are called on its task's goroutine, in this order: Open once; then any number of Process,
// Watermark, Snapshot and the optional interfaces' methods; EndInput for each input when that input has ended; Finish after
// the last one; and Close, always, also when Open failed, and harmless when called twice.
//
// Operators of one chain call each other directly through their Collectors. Everything that an event causes is emitted
// before the call returns, except what an operator holds back on purpose until a timer, a watermark or the end.
package operator
