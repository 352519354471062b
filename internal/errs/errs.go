package errs

import (
	"errors"
	"fmt"
	"strings"
)

// Class says what the runtime may do about an error.
type Class uint8

const (
	// ClassBug is a broken invariant of the engine itself. It is the zero value, so that an unclassified error is loud.
	ClassBug Class = iota
	// ClassRetry may go away when the same operation is tried again.
	ClassRetry
	// ClassFailTask fails the task; the job's restart strategy decides what follows.
	ClassFailTask
	// ClassFailJob fails the job for good: a restart would meet the same error.
	ClassFailJob
	// ClassUser was caused by what the user wrote: a wrong plan, option or function. Nothing is retried.
	ClassUser
	// ClassCanceled is no failure: somebody asked for the end.
	ClassCanceled
)

var classNames = [...]string{"bug", "retry", "fail-task", "fail-job", "user", "canceled"}

// String returns the class as it appears in logs.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", c)
}

// Code names a kind of error: lower-case words joined by dots, the area first ("state.schema.narrowed"). Codes are part
// of the interface to users and never change their meaning.
type Code string

// The codes used across packages. A package may define further ones in its own area.
const (
	CodeBug             Code = "internal.bug"
	CodeCanceled        Code = "job.canceled"
	CodePlanInvalid     Code = "plan.invalid"
	CodePlanMismatch    Code = "plan.mismatch"
	CodeConfigInvalid   Code = "config.invalid"
	CodeUserPanic       Code = "user.panic"
	CodeUserFunction    Code = "user.function"
	CodeRecordDecode    Code = "record.decode"
	CodeRecordTimestamp Code = "record.timestamp"
	CodeSource          Code = "source.read"
	CodeSink            Code = "sink.write"
	CodeIO              Code = "io.failed"
	CodePeerLost        Code = "exchange.peer-lost"
	CodeWire            Code = "exchange.frame"
	CodeWorkerLost      Code = "worker.lost"
	CodeTaskStuck       Code = "task.stuck"
	CodeCodec           Code = "codec.type"
	CodeCorrupt         Code = "data.corrupt"
	CodeSchema          Code = "state.schema"
	CodeLimit           Code = "limit.exceeded"
	// CodeFenced: another process leads the job now, and what this one still writes must not count.
	CodeFenced Code = "leader.fenced"
	// CodeCheckpoint: a checkpoint or savepoint came to nothing.
	CodeCheckpoint Code = "checkpoint.failed"
	// CodeGone: what a complete checkpoint has written is not in the storage any more.
	CodeGone Code = "checkpoint.gone"
	// CodeDamaged: a task could not load its state, because bytes of the checkpoint are not those that were written.
	CodeDamaged Code = "checkpoint.damaged"
)

// Error is an error with a code, a class and the place where it happened.
type Error struct {
	// Code names the kind of error.
	Code Code
	// Class decides recovery.
	Class Class
	// Op says where: an operator with its subtask, a file with line and column, a connection. May be empty.
	Op string
	// Msg says what happened and what to do about it.
	Msg string
	// Err is the cause, or nil.
	Err error
}

// Error returns "code: op: message: cause".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	for _, part := range []string{e.Op, e.Msg} {
		if part != "" {
			b.WriteString(": ")
			b.WriteString(part)
		}
	}
	if e.Err != nil {
		if cause := e.Err.Error(); cause != "" {
			b.WriteString(": ")
			b.WriteString(cause)
		}
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error without a cause. op may be empty.
func New(code Code, class Class, op, format string, args ...any) *Error {
	return &Error{Code: code, Class: class, Op: op, Msg: fmt.Sprintf(format, args...)}
}

// Wrap returns err with a code, class and operation; it returns nil if err is nil. An err that already is an *Error keeps
// its own code and class when code is empty.
func Wrap(err error, code Code, class Class, op, format string, args ...any) error {
	if err == nil {
		return nil
	}
	msg := ""
	if format != "" {
		msg = fmt.Sprintf(format, args...)
	}
	if code == "" {
		var inner *Error
		if errors.As(err, &inner) {
			code, class = inner.Code, inner.Class
		} else {
			code = CodeBug
		}
	}
	return &Error{Code: code, Class: class, Op: op, Msg: msg, Err: err}
}

// ClassOf returns the class of the outermost *Error in err's chain, ClassFailTask for any other error (a user's function
// returned it).
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ClassFailTask
}

// CodeOf returns the code of the outermost *Error in err's chain, or "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Canceled is what blocked calls return once their task has been cancelled.
var Canceled = New(CodeCanceled, ClassCanceled, "", "the task was cancelled")

// IsCanceled reports whether err only says that somebody asked for the end.
func IsCanceled(err error) bool { return ClassOf(err) == ClassCanceled }
