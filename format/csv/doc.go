// Package csv reads and writes rows as comma-separated text (RFC 4180 and its usual dialects).
//
// A format is compiled once for a struct type: each column of the file is bound to a field's offset and kind, and the
// decoder runs down that list with no reflection, no interface call and no allocation per row (texts are copied into
// shared chunks, see format.Text). Columns that the struct does not name are skipped without looking inside.
//
// # Binding columns to fields
//
// With a header, a field takes the column that its tag names: `csv:"dep_delay"`, else the name in a `weir` or `json` tag,
// else the column whose name equals the field's name when case, '_', '-' and ' ' are ignored. A field for which there is
// no column is an error, unless its tag says `csv:",optional"`; `csv:"-"` takes a field out. Without a header the columns
// are those of Options.Columns, or the struct's fields in their order.
//
// Further tag options, in this order: `csv:"name,optional,zone=Europe/Berlin,layout=2006-01-02 15:04"`. The layout reaches
// to the tag's end; "unix" and "unixmilli" stand for whole numbers. Without a layout a time is RFC 3339.
//
// # Values
//
// Integers, floats and booleans are what package strconv takes, in base 10; out-of-range values are refused. A duration is
// what time.ParseDuration takes. Types with an UnmarshalText method use it. Embedded structs are flattened. A field that
// may be missing is a types.Null (preferred) or a pointer; Options.Nulls lists the texts that mean "missing". A quoted text
// is never null for strings, so that "" and the missing string can be told apart.
//
// # Differences from encoding/csv
//
//   - A line break inside quotes keeps its bytes; encoding/csv turns "\r\n" into "\n" there.
//   - A stray quote inside a column that no field takes is not refused, as long as no field begins with a quote there.
//   - A byte order mark at the start is dropped.
//   - The delimiter, quote, comment and escape are single bytes.
package csv
