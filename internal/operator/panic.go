package operator

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
)

// RowError turns what a user function returned or panicked with into an error that names the operator, the row and its
// event time. p is the value of recover, or nil; err is the returned error. Call it from a deferred function, so that the
// stack is still the panic's.
func RowError(ctx *Context, p any, err error, row any, time int64) error {
	return UserError(ctx, p, err, func() string { return RowText(row, time) })
}

// UserError is RowError for functions that are not called for a row: where says what they were called for. It is called
// only if the text is needed, and its text, such as " (at key 7)", follows the message.
func UserError(ctx *Context, p any, err error, where func() string) error {
	if p == nil {
		if err == nil {
			return nil
		}
		var known *errs.Error
		if errors.As(err, &known) {
			return err
		}
		return &errs.Error{Code: errs.CodeUserFunction, Class: errs.ClassFailTask, Op: ctx.Place(),
			Msg: "the function returned an error" + where(), Err: err}
	}
	if e, ok := p.(*errs.Error); ok && e.Code == errs.CodeUserPanic {
		return e
	}
	e := &errs.Error{Code: errs.CodeUserPanic, Class: errs.ClassFailTask, Op: ctx.Place(),
		Msg: fmt.Sprintf("panic: %v%s\n%s", p, where(), TrimStack(debug.Stack()))}
	if cause, ok := p.(error); ok {
		e.Err = unsaid{cause}
	}
	return e
}

const rowTextMax = 400

// RowText describes a row for a message: " (at row ..., event time ...)", or nothing for a nil row.
func RowText(row any, time int64) string {
	if row == nil {
		return ""
	}
	s := fmt.Sprintf("%+v", row)
	if len(s) > rowTextMax {
		s = s[:rowTextMax] + "..."
	}
	if time == event.NoTime {
		return fmt.Sprintf(" (at row %s)", s)
	}
	return fmt.Sprintf(" (at row %s, event time %d ms)", s, time)
}

// unsaid is a cause whose text is in the message already.
type unsaid struct{ error }

func (unsaid) Error() string   { return "" }
func (u unsaid) Unwrap() error { return u.error }

// TrimStack drops the frames of the recovery itself, so that the first line is the user's, and those of the engine's task
// that everything runs under.
func TrimStack(stack []byte) string {
	s := string(stack)
	if i := strings.LastIndex(s, "\npanic("); i >= 0 {
		s = s[i+1:]
		for range 2 {
			if j := strings.IndexByte(s, '\n'); j >= 0 {
				s = s[j+1:]
			}
		}
	}
	for _, frame := range []string{"\ngithub.com/weir-stream/weir/internal/task.", "\ngithub.com/weir-stream/weir/internal/app/cli."} {
		if i := strings.Index(s, frame); i >= 0 {
			s = s[:i]
		}
	}
	return strings.TrimSuffix(s, "\n")
}
