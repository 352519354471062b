package file

import (
	"context"
	"errors"
	"slices"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/format"
)

// reader reads its splits in turn.
type reader[T any] struct {
	format format.Format[T]
	ctx    connector.ReaderContext
	text   *format.Text // shared by all splits; they are decoded on one goroutine
	inputs []*input[T]
	// turn is the index in inputs of the one to read next.
	turn   int
	paused map[string]bool
	spare  [][]byte // buffers of finished inputs
	// wake holds a token after anything for which Wait must return.
	wake connector.Wake
}

// AddSplit implements connector.Reader.
func (r *reader[T]) AddSplit(c connector.Split) error {
	s, err := parseSplit(c)
	if err != nil {
		return err
	}
	r.inputs = append(r.inputs, &input[T]{id: c.ID, state: *s})
	r.wake.Up()
	return nil
}

// Poll implements connector.Reader.
func (r *reader[T]) Poll(b *connector.Batch[T]) (string, connector.Status, error) {
	if len(r.inputs) == 0 {
		return "", connector.Done, nil
	}
	for range r.inputs {
		at := r.turn % len(r.inputs)
		in := r.inputs[at]
		r.turn = at + 1
		if r.paused[in.id] {
			continue
		}
		finished, err := in.read(r, b)
		if err != nil {
			return in.id, connector.More, err
		}
		if !finished {
			return in.id, connector.More, nil
		}
		r.inputs = slices.Delete(r.inputs, at, at+1)
		r.turn = at
		r.release(in)
		return in.id, connector.SplitDone, in.closeErr
	}
	return "", connector.Waiting, nil
}

// release closes a finished input and keeps its buffer for another.
func (r *reader[T]) release(in *input[T]) {
	in.close()
	if len(in.buf) == bufferBytes && len(r.spare) < 4 {
		r.spare = append(r.spare, in.buf)
	}
	in.buf = nil
}

func (r *reader[T]) buffer() []byte {
	if n := len(r.spare); n > 0 {
		b := r.spare[n-1]
		r.spare = r.spare[:n-1]
		return b
	}
	return make([]byte, bufferBytes)
}

// Wait implements connector.Reader. A file is always readable, so that only the methods that change what is to be read end
// the waiting.
func (r *reader[T]) Wait(ctx context.Context) error { return r.wake.Wait(ctx) }

// Pause implements connector.Reader.
func (r *reader[T]) Pause(splits map[string]bool) {
	r.paused = splits
	r.wake.Up()
}

// Snapshot implements connector.Reader.
func (r *reader[T]) Snapshot() ([]connector.Split, error) {
	out := make([]connector.Split, 0, len(r.inputs))
	for _, in := range r.inputs {
		c, err := in.state.split()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Close implements connector.Reader.
func (r *reader[T]) Close() error {
	var errs []error
	for _, in := range r.inputs {
		in.close()
		errs = append(errs, in.closeErr)
	}
	r.inputs, r.spare = nil, nil
	r.wake.Up()
	return errors.Join(errs...)
}
