package fs

import (
	"io"
	"os"
)

// WriteLarge writes b at the present position of f as Write does. A file of the operating system is written past the system's
// cache where that is possible: for bytes that are many and will hardly be read again soon, filling the cache takes several
// times the CPU time of handing them to the device, and it costs others their place there.
func WriteLarge(f File, b []byte) (int, error) {
	if real, ok := f.(*os.File); ok {
		return writeLarge(real, b)
	}
	return write(f, b)
}

func write(w io.Writer, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	return w.Write(b)
}
