package errs_test

import (
	"errors"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
)

func TestPositioned(t *testing.T) {
	for _, c := range []struct{ msg, want, text string }{
		{"the function failed (at row 7)", "the function failed (at row 7); read last in this task: 3 rows before line 9", "the function failed (at row 7)"},
		{"panic: boom (at row 7)\nmain.go:1\n", "panic: boom (at row 7); read last in this task: 3 rows before line 9\nmain.go:1\n", "panic: boom (at row 7)"},
	} {
		e := errs.New(errs.CodeUserFunction, errs.ClassFailTask, "map", "%s", c.msg)
		e.Err = errors.New("no")
		p := e.Positioned("3 rows before\nline 9")
		if p.Msg != c.want || e.Msg != c.msg || p.Err != e.Err || p.Op != "map" {
			t.Errorf("%q became %q", c.msg, p.Msg)
		}
		if text, ok := p.Unpositioned(); text != c.text || !ok {
			t.Errorf("without the position it is %q, %v", text, ok)
		}
		if text, ok := e.Unpositioned(); text != c.text || ok {
			t.Errorf("it had a position, %q", text)
		}
	}
}
