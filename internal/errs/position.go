package errs

import "strings"

// readLast begins what Positioned adds to a message.
const readLast = "; read last in this task: "

// Positioned returns a copy of e that says how far a source had come when a record made a function fail. It stands in the
// first line of the message: a stack may follow.
func (e *Error) Positioned(where string) *Error {
	c := *e
	first, rest, more := strings.Cut(e.Msg, "\n")
	c.Msg = first + readLast + strings.ReplaceAll(where, "\n", " ")
	if more {
		c.Msg += "\n" + rest
	}
	return &c
}

// Unpositioned returns the first line of the message, which is what happened and to which record, without the position, which
// may differ when the same happens again. ok says whether there was one.
func (e *Error) Unpositioned() (text string, ok bool) {
	first, _, _ := strings.Cut(e.Msg, "\n")
	if i := strings.LastIndex(first, readLast); i >= 0 {
		return first[:i], true
	}
	return first, false
}
