// Package snapshot is the written form of state: data objects, which hold entries sorted by key group, and the manifest,
// which lists them. docs/format/snapshot.md shows every byte.
//
// The form is the same for every state backend, so a restore may change the backend, and it is cut by key group, so a
// restore at any parallelism reads only its ranges. The package knows neither stores nor backends: it writes to an
// io.Writer and reads from an io.ReaderAt.
//
// Invariants:
//   - what a version has written can be read by every later program (testdata/v1 is kept for ever);
//   - decoding never panics, whatever the bytes, and its memory is bounded by the input and by the limits of the format;
//   - every byte is under a CRC-32C, which is checked before the bytes are looked at;
//   - a Writer holds a few blocks in memory, a Reader the index and a few runs of blocks.
//
// A Writer and a call of Reader.Each belong to one goroutine and have others compress for them; a Reader serves many calls
// at once.
package snapshot
