package lsm

import (
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/weir-stream/weir/internal/fs"
)

// changeLog lists the rows that were written to the database in the interval between two cuts, each perhaps several times:
//
//	[ uvarint: 2 * size of row + 1 if whole | row ] ...
//
// whole says that all rows that begin with row were removed. Small logs are in memory, others in a file.
//
// It is filled by the task, and then by the flush of the cut that ends the interval; afterwards any number of goroutines may read it.
// The last user removes the file.
type changeLog struct {
	stamp uint64 // the number of the cut that begins the interval
	fs    fs.FS
	name  string
	most  int // bytes that are kept in memory
	buf   []byte
	size  int64 // of the file, 0 if there is none; buf comes behind its bytes
	err   error // why it does not list everything
	about int64 // bytes that it will have, by what the task knew at the cut that ended the interval
	users atomic.Int32
}

const (
	// logMemory is what a log has in memory before its file begins, and between two writes to that.
	logMemory = 256 << 10
	// logMost bounds the bytes of all logs that are kept; with more, or more logs, the next checkpoint is whole.
	logMost, logsMost = 1 << 30, 64
	// aboutRow is what a row may have in a log.
	aboutRow = 32
	// gatherMost bounds the bytes of the keys that are sorted at once.
	gatherMost = 32 << 20
)

// add notes a row. A log that cannot be written says so when it is read.
func (l *changeLog) add(row []byte, whole bool) {
	if l == nil || l.err != nil {
		return
	}
	size := uint64(len(row)) << 1
	if whole {
		size |= 1
	}
	l.buf = append(binary.AppendUvarint(l.buf, size), row...)
	if len(l.buf) >= l.most {
		l.spill()
	}
}

func (l *changeLog) spill() {
	f, err := l.fs.OpenAppend(l.name)
	if err == nil {
		_, err = f.Write(l.buf)
		err = errors.Join(err, f.Close())
	}
	l.err = err
	l.size += int64(len(l.buf))
	l.buf = l.buf[:0]
}

func (l *changeLog) bytes() int64 { return l.size + int64(len(l.buf)) }

// each shows the rows, borrowed.
func (l *changeLog) each(f func(row []byte, whole bool)) error {
	if l.err != nil {
		return l.err
	}
	var part []byte
	var file fs.File
	if l.size > 0 {
		var err error
		if file, err = l.fs.Open(l.name); err != nil {
			return err
		}
		defer file.Close()
	}
	for at := int64(0); at < l.size; {
		// The first bytes are what the last read has left over.
		kept := len(part)
		part = append(part, make([]byte, min(int64(max(logMemory, kept)), l.size-at))...)
		if _, err := file.ReadAt(part[kept:], at); err != nil {
			return err
		}
		at += int64(len(part) - kept)
		part = append(part[:0], eachRow(part, f)...)
	}
	eachRow(append(part, l.buf...), f)
	return nil
}

// eachRow shows the rows that b has whole, and returns the rest.
func eachRow(b []byte, f func(row []byte, whole bool)) []byte {
	for {
		size, w := binary.Uvarint(b)
		n := int(size >> 1)
		if w <= 0 || len(b)-w < n {
			return b
		}
		f(b[w:w+n:w+n], size&1 != 0)
		b = b[w+n:]
	}
}

// leave is called by each user when it needs the log no more.
func (l *changeLog) leave() {
	if l == nil || l.users.Add(-1) > 0 {
		return
	}
	if l.size > 0 {
		_ = l.fs.Remove(l.name) // else it goes with the directory
	}
}

func leaveAll(logs []*changeLog) {
	for _, l := range logs {
		l.leave()
	}
}
