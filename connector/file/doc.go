// Package file reads rows from files and writes rows to files: CSV and JSON lines, plain, gzip or zstd.
//
// # Splits
//
// A plain file of a format in which every newline ends a record is cut into byte ranges; a record belongs to the range in
// which its first byte lies. Every other file is one split. Files are taken in the order of their patterns and, within a
// pattern, of their paths; ranges in the order of their offsets. The position in a split is the offset of the next record,
// for compressed files in the uncompressed bytes, so that a reader goes on exactly where another one stopped.
//
// A reader reads the splits that it owns in turn, one batch of each, and leaves out those that are paused. A file is opened
// when its split's turn comes first and closed at its end.
//
// # Sinks
//
// In a job with checkpoints rows are written exactly once, by two-phase commit: a part has a name that begins with a '.'
// until the checkpoint that covers it is complete. See parts for the writer, committer for what makes parts visible.
//
//   - A part that a checkpoint lists is never written to by another attempt, and removed only when its rows are visible.
//   - A visible file is never changed, and never replaced but by the sink of one file.
//   - No name is used by two attempts.
//
// # Changed files
//
// A file must keep its size from the moment it was found until it has been read, and its modification time while it is
// read; otherwise reading fails. Write elsewhere and rename into place. Names that begin with '.' or '_' are not matched by
// directories and wildcards, so such names can be used for files that are being written; the sinks here do so.
package file
