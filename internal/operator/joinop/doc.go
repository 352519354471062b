// Package joinop holds the operators that bring two keyed streams together: the interval join and the window join, which is
// the coGroup too.
//
// Both keep the rows of each input encoded in the keyed backend, never as Go values, and find what is due by event-time
// timers. Input 0 is the left one. What happens to an input is written once, for a half, and the two halves of a join differ
// in their row type and bounds alone.
//
// # Ownership
//
// A row that a user function gets is decoded for the call. Its strings and byte slices alias memory that is never used
// again, so the function may keep them; slices of rows and pointers to rows are used again after the call.
//
// # Lateness
//
// A row of an interval join is late if its time <= watermark; in a window join a row is late if all its windows are over, as
// in every window operator. Each side has a side output for its late rows. Late rows join with nothing and are not padded.
package joinop
