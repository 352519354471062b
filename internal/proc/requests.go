package proc

// Request is what another process asks for by a signal.
type Request uint8

const (
	// RequestSavepoint asks for a savepoint: SIGUSR1.
	RequestSavepoint Request = iota
	// RequestStop asks for a savepoint and the end: SIGUSR2.
	RequestStop
)
