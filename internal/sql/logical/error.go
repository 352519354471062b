package logical

import (
	"fmt"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/sql/ast"
)

// CodeInvalid is the code of errors of this package.
const CodeInvalid errs.Code = "sql.invalid"

// Error says what is wrong with a statement that can be parsed.
type Error struct {
	// Pos is where it stands; Line is 0 if no text stands behind it.
	ast.Pos
	Msg string
	// Near is the name that was meant perhaps, "" if there is none.
	Near string
}

// Error implements error.
func (e *Error) Error() string {
	msg := e.Msg
	if e.Near != "" {
		msg += "; did you mean " + e.Near + "?"
	}
	if e.Line == 0 {
		return msg
	}
	return fmt.Sprintf("%v: %s", e.Pos, msg)
}

// Unwrap gives the error its code and class.
func (e *Error) Unwrap() error { return errs.New(CodeInvalid, errs.ClassUser, "", "%s", e.Msg) }

func wrong(at ast.Node, format string, args ...any) error {
	return &Error{Pos: at.Position(), Msg: fmt.Sprintf(format, args...)}
}

// located gives err the place of at, unless it has one.
func located(at ast.Node, err error) error {
	if _, ok := err.(*Error); ok || err == nil {
		return err
	}
	return &Error{Pos: at.Position(), Msg: err.Error()}
}

// unknown is the error for a name that is not there, with the nearest of those that are.
func unknown(at ast.Node, kind, name string, there []string) error {
	return &Error{Pos: at.Position(), Msg: fmt.Sprintf("there is no %s %s", kind, name), Near: ast.Nearest(name, there)}
}
