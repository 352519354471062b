package fs

import (
	"errors"
	"io"
)

// ErrLocked says that somebody else holds a lock.
var ErrLocked = errors.New("locked by another process")

// Locker is an FS with locks that end with the process that holds them, however it ends.
type Locker interface {
	FS
	// Lock locks a file, and makes it if it does not exist; its directory must. It does not wait: a lock that is held, by
	// this process too, is ErrLocked. Closing the result gives the lock back.
	Lock(name string) (io.Closer, error)
}
