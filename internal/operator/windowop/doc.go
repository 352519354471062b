// Package windowop holds the window operators of the typed API.
//
// Panes serves tumbling and sliding windows whose trigger is the plain one and whose function is an aggregate: one table of
// accumulators for each pane, updated once a row, and combined when a window ends. It registers no timer for a key: a
// window's keys are the keys of its tables. General serves everything else.
//
// # Lateness
//
// A row is late if every window that it belongs to is over: maximum timestamp plus allowed lateness <= watermark. A late row
// is counted and goes to the side output, if one was named. A row that belongs to a window which has fired but is not over
// updates it and makes it fire again for the row's key.
package windowop
