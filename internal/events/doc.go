// Package events is the one stream of what the engine does in the background: typed events, in Begin/End pairs where
// something takes time, with the ids that join them. Logs, metrics, the history and the dashboard read it; no part of the
// engine writes a log of its own for what is an event here.
//
// A Listener's functions are called on the goroutine to which the event happens, with that part's locks possibly held:
// they must not block, must not call back into the engine, and may be called from several goroutines at once. An Info
// belongs to the callee; its slices and errors must not be changed.
package events
