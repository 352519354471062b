package fs

import (
	"errors"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// directAlign is what memory, position and length must be multiples of. Devices that want more refuse.
	directAlign = 4096
	// directBytes is written with one request.
	directBytes = 4 << 20
)

// writeLarge writes what is aligned past the cache, and the rest through it.
func writeLarge(f *os.File, b []byte) (int, error) {
	n := len(b) &^ (directAlign - 1)
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	if n == 0 || at%directAlign != 0 || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%directAlign != 0 || setDirect(f, true) != nil {
		return write(f, b)
	}
	done := 0
	for done < n {
		var m int
		m, err = f.Write(b[done:min(done+directBytes, n)])
		if done += m; err != nil {
			break
		}
	}
	if off := setDirect(f, false); err == nil {
		err = off
	}
	if errors.Is(err, unix.EINVAL) { // this file system or device wants another alignment
		err = nil
	}
	if err != nil {
		return done, err
	}
	m, err := write(f, b[done:])
	return done + m, err
}

// setDirect has writes to f go past the cache, or through it.
func setDirect(f *os.File, direct bool) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	ctlErr := c.Control(func(fd uintptr) {
		var flags int
		if flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0); err != nil {
			return
		}
		if flags &^= unix.O_DIRECT; direct {
			flags |= unix.O_DIRECT
		}
		_, err = unix.FcntlInt(fd, unix.F_SETFL, flags)
	})
	return errors.Join(ctlErr, err)
}
