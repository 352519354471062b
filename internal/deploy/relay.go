package deploy

import (
	"bytes"
	"io"

	"github.com/weir-stream/weir/internal/xsync"
)

// lineBytesMax is where an endless line is cut.
const lineBytesMax = 64 << 10

// relay writes the lines of many workers to one writer, each with the name of its worker before it. It never mixes the
// bytes of two lines. An error of the writer is ignored: the workers must not block on a closed terminal.
type relay struct {
	to io.Writer
	mu xsync.Mutex
}

// copy relays r until its end. An unfinished last line gets its end.
func (l *relay) copy(r io.Reader, name string) {
	var pending []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		pending = append(pending, buf[:n]...)
		for {
			end := bytes.IndexByte(pending, '\n')
			if end < 0 {
				break
			}
			l.line(name, pending[:end])
			pending = pending[end+1:]
		}
		for len(pending) >= lineBytesMax {
			l.line(name, pending[:lineBytesMax])
			pending = pending[lineBytesMax:]
		}
		if err != nil {
			if len(pending) > 0 {
				l.line(name, pending)
			}
			return
		}
	}
}

func (l *relay) line(name string, text []byte) {
	out := make([]byte, 0, len(name)+len(text)+4)
	out = append(out, '[')
	out = append(out, name...)
	out = append(out, "] "...)
	out = append(out, text...)
	out = append(out, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.to.Write(out)
}

// sameWriter reports whether a and b are one writer; writers that cannot be compared are not.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() { _ = recover() }() // comparing interfaces that hold slices or maps panics
	return a == b
}
