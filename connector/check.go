package connector

// Checker is implemented by sources and sinks whose options or row type can be wrong. Check is called when the job is
// built, so that the mistake is shown at the user's own line; it does no I/O.
type Checker interface {
	Check() error
}

// SplitsPerReader is implemented by sources whose readers should own several splits at once, because the splits are to be
// read side by side (with aligned watermarks, say). The engine asks the enumerator on behalf of the readers in turn,
// reader 0 first, until each owns that many unfinished splits or none is ready; math.MaxInt means all there are. A reader
// of a source without this method is given a split when it has nothing left to read.
type SplitsPerReader interface {
	SplitsPerReader() int
}
