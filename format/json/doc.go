// Package json reads and writes rows as JSON lines: one JSON value a line, blank lines skipped.
//
// What a line means for a row type is what encoding/json/v2 says, with its default options: names are case-sensitive,
// duplicate names and invalid UTF-8 are refused, unknown members are ignored. The row is zero where the line says nothing.
//
// # How it is fast
//
// For a struct of plain fields (numbers, bool, string, time.Time, types.Null of these) the decoder reads a line without
// json/v2: it guesses that the members follow each other as they did in the line before, compares the expected name as
// bytes, and parses the value where it stands. A wrong guess costs a look-up of the name. Fields of other types are handed
// to json/v2 one by one. Whatever the scanner does not understand or does not like, it gives up without an opinion, and the
// whole line goes to json/v2, which decides; so the scanner may accept only what json/v2 accepts, with the same value.
// The encoder works the same way, and its bytes are those of json/v2 with Deterministic.
package json
