// Package windowop holds the window operators of the typed API. docs/design/windows.md describes them.
//
//   - Panes: tumbling and sliding windows whose trigger is the plain one and whose function is an aggregate. One table of
//     accumulators for each pane, updated once a row, and combined when a window ends. No timers: a window's keys are the keys of
//     its tables.
//   - Sessions: sessions in event time with the plain trigger and an aggregate. A cell and a timer for each key.
//   - General: everything else. Content, trigger memory and timers for each key and window.
//
// New chooses. All belongs to the task's goroutine; there are no locks.
//
// # Lateness
//
// A row is late if every window that it belongs to is over: maximum timestamp plus allowed lateness <= watermark. A late row
// is counted and goes to the side output, if one was named. A row that belongs to a window which has fired but is not over
// updates it and makes it fire again for the row's key.
//
// # Invariants
//
// Results do not depend on how rows are put into batches, on the operator that serves, or on other keys. When the input has
// ended no state and no timer is left, except in the global window.
package windowop
