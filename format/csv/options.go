package csv

import (
	"fmt"
	"slices"
)

// recordBytesMax is the default of Options.RecordBytesMax.
const recordBytesMax = 1 << 20

// Options describe a dialect. The zero value is RFC 4180 with a header.
type Options struct {
	// Delimiter stands between fields; 0 means ','.
	Delimiter byte
	// Quote encloses fields; 0 means '"'.
	Quote byte
	// NoQuote gives quotes no meaning at all: every newline ends a record.
	NoQuote bool
	// Escape, if not 0, takes the special meaning from the byte behind it (often '\\'), in addition to doubled quotes.
	Escape byte
	// Comment, if not 0, starts a line that is skipped.
	Comment byte
	// NoHeader says that the first record is a row.
	NoHeader bool
	// Columns names the file's columns when there is no header.
	Columns []string
	// Nulls are the texts that mean "missing" in fields that can be; nil means the empty text alone. The encoder writes
	// the first one.
	Nulls []string
	// OneLine promises that no quoted field holds a newline, so that a file can be read from several places at once.
	OneLine bool
	// RecordBytesMax bounds a record, so that a forgotten quote does not swallow the file; 0 means 1 MiB.
	RecordBytesMax int
}

func (o Options) filled() Options {
	if o.Delimiter == 0 {
		o.Delimiter = ','
	}
	if o.Quote == 0 {
		o.Quote = '"'
	}
	if o.Nulls == nil {
		o.Nulls = []string{""}
	}
	if o.RecordBytesMax <= 0 {
		o.RecordBytesMax = recordBytesMax
	}
	return o
}

// check is given filled options.
func (o Options) check() error {
	special := []byte{o.Delimiter}
	for _, b := range []byte{o.Escape, o.Comment} {
		if b != 0 {
			special = append(special, b)
		}
	}
	if !o.NoQuote {
		special = append(special, o.Quote)
	}
	for i, b := range special {
		if b == '\n' || b == '\r' || b >= 0x80 {
			return fmt.Errorf("csv: %q cannot be a delimiter, quote, escape or comment: use a single ASCII byte that is no line end", b)
		}
		if slices.Contains(special[:i], b) {
			return fmt.Errorf("csv: %q is given two meanings among delimiter, quote, escape and comment", b)
		}
	}
	if !o.NoHeader && len(o.Columns) > 0 {
		return fmt.Errorf("csv: Columns are given although the file has a header: set NoHeader, or leave Columns out")
	}
	return nil
}
