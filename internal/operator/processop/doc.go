// Package processop runs user functions that see more than a row: its time, the watermark, keyed state, timers, side
// outputs, several inputs.
//
// One operator serves all of them. Runtime (Keyed for functions by key) is what the facade's contexts wrap; a Function
// holds the user's methods as the facade has bound them; an Input turns the batches of one gate into calls.
//
//	batch -> Input (key of each row) -> Function -> Outlet -> Emitter -> consumer
//	watermark -> event timers due -> Function.OnTimer -> ...; the task forwards the watermark afterwards
//
// Everything runs on the task's goroutine. Nothing of a row is allocated here.
package processop
