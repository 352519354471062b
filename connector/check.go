package connector

// Checker is implemented by sources and sinks whose options or row type can be wrong. Check is called when the job is
// built, so that the mistake is shown at the user's own line; it does no I/O.
type Checker interface {
	Check() error
}

// SideBySide is implemented by sources whose splits should be read side by side rather than one after the other. If it
// reports true the engine deals out all splits at once, to the readers in turn, as it does for sources with watermark
// alignment; otherwise a reader is given a split when it has nothing left to read.
type SideBySide interface {
	SideBySide() bool
}

// SplitDescriber is implemented by sources that can say in words where the next record of a split is ("line 12 (byte 1024) of
// flights.csv"), for the message about a record that makes a function fail. It is called only then, and may read what it needs
// for it from fs. An empty text means that nothing is known. Without it messages show the split's ID and its state.
type SplitDescriber interface {
	DescribeSplit(fs FileSystem, s Split) string
}

// InProcess is implemented by sources and sinks that reach into the memory of the process that runs the program, such as a
// Go channel. If it reports true the job is refused when worker processes are to run it, where that memory is another.
type InProcess interface {
	InProcess() bool
}
