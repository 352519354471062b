package format

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// valueBytesMax is how much of a value is shown in a message.
const valueBytesMax = 120

// Error returns "file:line:column: field "f": value, want what: cause", so that a BadRecord serves as an error.
func (b BadRecord) Error() string {
	var s strings.Builder
	s.WriteString(b.Where)
	if b.Line > 0 {
		fmt.Fprintf(&s, ":%d", b.Line)
		if b.Column > 0 {
			fmt.Fprintf(&s, ":%d", b.Column)
		}
	} else {
		fmt.Fprintf(&s, " at %d", b.Offset)
	}
	s.WriteString(": ")
	if b.Field != "" {
		fmt.Fprintf(&s, "field %q ", b.Field)
	}
	fmt.Fprintf(&s, "is %s, want %s", strconv.Quote(b.Value), b.Want)
	if b.Err != nil {
		fmt.Fprintf(&s, ": %v", b.Err)
	}
	return s.String()
}

// Unwrap returns the cause.
func (b BadRecord) Unwrap() error { return b.Err }

// Clip copies b as text for BadRecord.Value, cut at a rune's edge if it is too long to be printed.
func Clip(b []byte) string {
	if len(b) <= valueBytesMax {
		return string(b)
	}
	n := valueBytesMax
	for n > valueBytesMax-utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n--
	}
	return string(b[:n]) + "..."
}
