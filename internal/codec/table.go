package codec

import (
	"fmt"

	"github.com/weir-stream/weir/internal/bin"
)

// Table describes what one table of state holds. It is written beside the table, so that a later program knows whether it can
// read what an earlier one has left (docs/format/codec.md, section 4).
type Table struct {
	// Value describes the values, list elements or map values that belong to the user; nil if all bytes are the engine's own.
	Value *Schema
	// Entry describes the keys of a map's entries; nil if there are none, or if they are the engine's own.
	Entry *Schema
	// Prefix is how many bytes of the engine precede each value.
	Prefix int
	// Layout names how the engine lays out its own bytes, "" if there are none. Tables of different layouts have nothing in
	// common: a layout that changes gets a new name.
	Layout string
	// Namespace says what a namespace is, "" for tables without.
	Namespace string
	// Expiry is the clock by which values expire, "" for tables whose values do not. Each value then has a stamp of 8 bytes
	// before it, which Prefix does not count.
	Expiry string
}

// The parts of a written table, ascending.
const (
	partValue     = 1
	partEntry     = 2
	partPrefix    = 3
	partLayout    = 4
	partNamespace = 5
	partExpiry    = 6
)

const (
	tableMagic     = 'T'
	tableVersion   = 1
	tablePrefixMax = 1 << 16
)

// Append appends the binary form.
func (t Table) Append(dst []byte) []byte {
	dst = append(dst, tableMagic, tableVersion)
	part := func(tag byte, b []byte) { dst = bin.AppendBytes(append(dst, tag), b) }
	if t.Value != nil {
		part(partValue, t.Value.Append(nil))
	}
	if t.Entry != nil {
		part(partEntry, t.Entry.Append(nil))
	}
	if t.Prefix > 0 {
		part(partPrefix, bin.AppendUvarint(nil, uint64(t.Prefix)))
	}
	if t.Layout != "" {
		part(partLayout, []byte(t.Layout))
	}
	if t.Namespace != "" {
		part(partNamespace, []byte(t.Namespace))
	}
	if t.Expiry != "" {
		part(partExpiry, []byte(t.Expiry))
	}
	return dst
}

// ParseTable reads what Append wrote and nothing else. The table does not alias src.
func ParseTable(src []byte) (*Table, error) {
	if len(src) < 2 || src[0] != tableMagic {
		return nil, corruptf("table schema", "it does not begin as one")
	}
	if src[1] != tableVersion {
		return nil, corruptf("table schema", "is of version %d; this program reads version %d", src[1], tableVersion)
	}
	t := &Table{}
	last := byte(0)
	for rest := src[2:]; len(rest) > 0; {
		tag := rest[0]
		if tag <= last {
			return nil, corruptf("table schema", "part %d comes behind part %d", tag, last)
		}
		body, after, err := bin.Bytes(rest[1:])
		if err == nil {
			err = t.part(tag, body)
		}
		if err != nil {
			return nil, corrupt("table schema", err)
		}
		last, rest = tag, after
	}
	return t, nil
}

func (t *Table) part(tag byte, body []byte) (err error) {
	if len(body) == 0 {
		return fmt.Errorf("part %d is empty", tag)
	}
	var rest []byte
	switch tag {
	case partValue:
		t.Value, rest, err = ParseSchema(body)
	case partEntry:
		t.Entry, rest, err = ParseSchema(body)
	case partPrefix:
		var n uint64
		n, rest, err = bin.Uvarint(body)
		if err == nil && (n == 0 || n > tablePrefixMax) {
			err = fmt.Errorf("a prefix of %d bytes", n)
		}
		t.Prefix = int(n)
	case partLayout:
		t.Layout = string(body)
	case partNamespace:
		t.Namespace = string(body)
	case partExpiry:
		t.Expiry = string(body)
	default:
		err = fmt.Errorf("unknown part %d: a newer program wrote it", tag)
	}
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("part %d has %d bytes too many", tag, len(rest))
	}
	return err
}
