package taskstore

import (
	"io"
	"sync"

	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
)

// keyedObjects writes keyed state as objects that are made in memory: a try that fails is repeated from there, so the cut can be
// drained. While one is stored by another goroutine the next one is made.
type keyedObjects struct {
	w       *writing
	kind    snapshot.ObjectKind
	out     []snapshot.Object
	made    *buffer
	storing chan error // gets the fate of the object that another goroutine stores; nil if none does
}

// buffer is an object in memory.
type buffer struct{ b []byte }

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.b = append(b.b, p...)
	return len(p), nil
}

// buffers keeps what uploads have given back until the next garbage collection.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

// written writes what the plan says of the parts and returns the objects.
func (w *writing) written(parts []statebackend.Part, p *plan) ([]snapshot.Object, error) {
	k := &keyedObjects{w: w, made: newBuffer()}
	opt := transfer.Options{Drain: true, Compression: w.t.u.cfg.Compression, ObjectBytes: w.t.u.cfg.ObjectBytes, Next: k.next}
	var sum snapshot.Summary
	var err error
	if p.base != nil {
		k.kind = snapshot.ObjectDelta
		sum, err = transfer.SaveChanges(k.made, parts, p.since, w.t.groups, opt)
	} else {
		sum, err = transfer.SaveParts(k.made, parts, w.t.groups, opt)
	}
	if waited := k.wait(); err == nil {
		err = waited
	}
	if err == nil && sum.Entries > 0 {
		err = w.store(k.list(&sum), func(full string) error { return w.put(full, k.made, &sum) })
	}
	buffers.Put(k.made)
	return k.out, err
}

func newBuffer() *buffer {
	b := buffers.Get().(*buffer)
	b.b = b.b[:0]
	return b
}

// list names the object that was made, and returns its full name.
func (k *keyedObjects) list(sum *snapshot.Summary) string {
	name := k.w.name()
	k.out = append(k.out, snapshot.Object{Name: name, Kind: k.kind, Size: sum.Size, CRC: sum.CRC, From: sum.Groups.From, To: sum.Groups.To,
		Entries: sum.Entries, RawBytes: sum.RawBytes})
	k.w.out.Written += sum.Size
	return k.w.place.prefix + name
}

// next has the object that was made stored by another goroutine, and returns where the next one is made.
func (k *keyedObjects) next(sum snapshot.Summary) (io.Writer, error) {
	if err := k.wait(); err != nil {
		return nil, err
	}
	full, made, storing := k.list(&sum), k.made, make(chan error, 1)
	k.w.up.written = append(k.w.up.written, full)
	k.made, k.storing = newBuffer(), storing
	go func() { // ends when the object is stored, or with ctx; wait waits for it
		err := k.w.retry(full, func(full string) error { return k.w.put(full, made, &sum) })
		buffers.Put(made)
		storing <- err
	}()
	return k.made, nil
}

// wait waits for the object that another goroutine stores.
func (k *keyedObjects) wait() error {
	if k.storing == nil {
		return nil
	}
	err := <-k.storing
	k.storing = nil
	return err
}

// put stores an object from memory.
func (w *writing) put(full string, made *buffer, sum *snapshot.Summary) error {
	_, err := w.place.store.Put(w.ctx, full, objstore.Summed(made.b, sum.CRC))
	return err
}
