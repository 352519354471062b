// Package source is the operator at the head of a source task: it drives a connector's Reader, takes event times and makes
// watermarks, split by split, keeps splits aligned, and carries out the policy for records that cannot be decoded.
//
// # Watermarks
//
// Each split has its own watermark; the operator's is the lowest over the splits that are unfinished and not idle. A
// split that has been assigned but not read yet holds it back, since nothing is known of its times. While a reader owns no
// split the watermark stays where it is.
//
// # Alignment
//
// A split whose watermark is above the limit (AlignTo) is not read until the limit has risen. The limit is the lowest
// watermark over all tasks of the source plus the permitted drift; it comes from the job's coordinator, which learns of this
// task's lowest watermark through Progress.
package source
