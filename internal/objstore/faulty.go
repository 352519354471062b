package objstore

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	"github.com/weir-stream/weir/internal/errs"
)

// OpKind names a request to a Store.
type OpKind string

// The requests as Faulty reports them.
const (
	OpPut         OpKind = "put"
	OpPutIfAbsent OpKind = "put-if-absent"
	OpGet         OpKind = "get"
	OpStat        OpKind = "stat"
	OpList        OpKind = "list"
	OpDelete      OpKind = "delete"
)

// Op is one request about to be made.
type Op struct {
	Kind OpKind
	Name string // of OpList the prefix
	N    int64  // counts the requests of the Faulty, from 1
}

// String is the form in which tests list requests, without the number.
func (o Op) String() string { return fmt.Sprintf("%s %s", o.Kind, o.Name) }

// Fault is what happens to a request. The zero Fault is none.
type Fault struct {
	// Wait, if set, is called first and delays the request until it returns. An error of it (ctx ended) is the answer.
	Wait func(ctx context.Context) error
	// Err, if set, is the answer, and the request is not made.
	Err error
	// Lost, if set, is the answer after the request was made.
	Lost error
	// Torn, if positive, cuts the bytes of a Put or Get after so many of them; the request then fails with CodeUnavailable.
	Torn int64
}

// Unavailable is a fault like the answer 503: the request is not made and may be tried again.
func Unavailable() Fault {
	return Fault{Err: errs.New(CodeUnavailable, errs.ClassRetry, "", "injected fault: slow down, please")}
}

// LostAnswer is a fault that makes the request and loses the answer.
func LostAnswer() Fault {
	return Fault{Lost: errs.New(CodeUnavailable, errs.ClassRetry, "", "injected fault: the connection broke before the answer")}
}

// NoSpace is the fault of a full store.
func NoSpace() Fault {
	return Fault{Err: errs.New(CodeNoSpace, errs.ClassRetry, "", "injected fault: no space left")}
}

// Faulty wraps a store and asks a function about each request.
type Faulty struct {
	inner Store
	fault func(Op) Fault
	n     atomic.Int64
}

var _ Store = (*Faulty)(nil)

// NewFaulty wraps inner. fault is called on the goroutine of each request, so several may be in it at once. One that
// returns the zero Fault and notes the Op makes a trace.
func NewFaulty(inner Store, fault func(Op) Fault) *Faulty { return &Faulty{inner: inner, fault: fault} }

// ask returns the fault of a request, and the error that is the answer if the request is not to be made.
func (f *Faulty) ask(ctx context.Context, kind OpKind, name string) (Fault, error) {
	fault := f.fault(Op{Kind: kind, Name: name, N: f.n.Add(1)})
	if fault.Wait != nil {
		if err := fault.Wait(ctx); err != nil {
			return fault, err
		}
	}
	if err := ctx.Err(); err != nil {
		return fault, err
	}
	return fault, fault.Err
}

// Put implements Store.
func (f *Faulty) Put(ctx context.Context, name string, c Content) (Written, error) {
	return f.put(ctx, OpPut, name, c, f.inner.Put)
}

// PutIfAbsent implements Store.
func (f *Faulty) PutIfAbsent(ctx context.Context, name string, c Content) (Written, error) {
	return f.put(ctx, OpPutIfAbsent, name, c, f.inner.PutIfAbsent)
}

func (f *Faulty) put(ctx context.Context, kind OpKind, name string, c Content,
	do func(context.Context, string, Content) (Written, error)) (Written, error) {
	fault, err := f.ask(ctx, kind, name)
	if err != nil {
		return Written{}, err
	}
	if fault.Torn > 0 {
		c.Reader = &torn{r: c.Reader, left: fault.Torn}
	}
	w, err := do(ctx, name, c)
	if err == nil && fault.Lost != nil {
		return Written{}, fault.Lost
	}
	return w, err
}

// Get implements Store.
func (f *Faulty) Get(ctx context.Context, name string, off, n int64) (io.ReadCloser, error) {
	fault, err := f.ask(ctx, OpGet, name)
	if err != nil {
		return nil, err
	}
	r, err := f.inner.Get(ctx, name, off, n)
	if err != nil {
		return nil, err
	}
	if fault.Lost != nil {
		r.Close()
		return nil, fault.Lost
	}
	if fault.Torn > 0 {
		return struct {
			io.Reader
			io.Closer
		}{&torn{r: r, left: fault.Torn}, r}, nil
	}
	return r, nil
}

// Stat implements Store.
func (f *Faulty) Stat(ctx context.Context, name string) (Info, error) {
	fault, err := f.ask(ctx, OpStat, name)
	if err != nil {
		return Info{}, err
	}
	info, err := f.inner.Stat(ctx, name)
	if err == nil && fault.Lost != nil {
		return Info{}, fault.Lost
	}
	return info, err
}

// List implements Store. A lost answer ends the list after its first object.
func (f *Faulty) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		fault, err := f.ask(ctx, OpList, prefix)
		if err != nil {
			yield(Info{}, err)
			return
		}
		for info, err := range f.inner.List(ctx, prefix) {
			if !yield(info, err) {
				return
			}
			if fault.Lost != nil {
				break
			}
		}
		if fault.Lost != nil {
			yield(Info{}, fault.Lost)
		}
	}
}

// Delete implements Store.
func (f *Faulty) Delete(ctx context.Context, name string) error {
	fault, err := f.ask(ctx, OpDelete, name)
	if err != nil {
		return err
	}
	if err := f.inner.Delete(ctx, name); err != nil {
		return err
	}
	return fault.Lost
}

// torn yields left bytes and then fails, even if the bytes end there.
type torn struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (t *torn) Read(p []byte) (int, error) {
	if t.left == 0 {
		return 0, errs.New(CodeUnavailable, errs.ClassRetry, "", "injected fault: the connection broke in the middle")
	}
	n, err := t.r.Read(p[:min(int64(len(p)), t.left)])
	t.left -= int64(n)
	return n, err
}
