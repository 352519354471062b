package restore

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
)

// Sink returns what takes entries of a saved state and hands them to to, which takes those of the opened one. It fails if
// Make would refuse the pair. keySchema is that of the operator's keys, for messages; it may be empty.
func Sink(saved *snapshot.State, opened *Opened, keySchema []byte, to transfer.Sink) (transfer.Sink, error) {
	o := compare(saved, opened)
	if o.verdict == Refuse {
		return nil, errs.New(errs.CodeSchema, errs.ClassUser, "state "+saved.Name, "%s", strings.Join(o.reasons, "\n"))
	}
	if !o.moves() {
		return to, nil
	}
	m := &migrator{outcome: o, saved: saved, to: to}
	if len(keySchema) > 0 {
		m.keys, _, _ = codec.ParseSchema(keySchema)
	}
	return m.take, nil
}

// migrator rewrites the values of a state.
type migrator struct {
	outcome
	saved *snapshot.State
	keys  *codec.Schema // for messages; may be nil
	to    transfer.Sink
	buf   []byte
}

func (m *migrator) take(e *snapshot.Entry) error {
	if e.Removed {
		return m.to(e)
	}
	if m.saved.Width > 0 && len(e.Value) != m.saved.Width || len(e.Value) < m.keep+m.drop {
		return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "state "+m.saved.Name, "an entry of %d bytes, which is not the width of the state", len(e.Value))
	}
	value, err := m.rewritten(e.Value)
	if err != nil {
		return m.failed(e, err)
	}
	now := *e
	now.Value = value
	return m.to(&now)
}

// rewritten returns what a value becomes, valid until the next call. A panic of the user's function is an error.
func (m *migrator) rewritten(value []byte) (b []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errs.New(errs.CodeUserPanic, errs.ClassUser, "", "panic: %v\n%s", p, debug.Stack())
		}
	}()
	m.buf = append(append(m.buf[:0], value[:m.keep]...), m.stamp...)
	if value = value[m.keep+m.drop:]; m.rewrite == nil {
		m.buf = append(m.buf, value...)
		return m.buf, nil
	}
	m.buf, err = m.rewrite(m.buf, value)
	return m.buf, err
}

func (m *migrator) failed(e *snapshot.Entry, err error) error {
	code := errs.CodeOf(err)
	if code == errs.CodeCorrupt {
		return errs.Wrap(err, errs.CodeCorrupt, errs.ClassFailJob, "state "+m.saved.Name, "the value of key %s is not what its schema says", m.key(e))
	}
	if code == "" {
		code = errs.CodeUserFunction
	}
	return errs.Wrap(err, code, errs.ClassUser, "state "+m.saved.Name,
		"the migration failed at key %s: mend the migration function and start again, nothing of the snapshot has changed", m.key(e))
}

func (m *migrator) key(e *snapshot.Entry) string {
	if m.keys != nil {
		return codec.FormatKey(m.keys, e.Key)
	}
	return fmt.Sprintf("%x", e.Key)
}
