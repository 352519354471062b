// Package collect is the sink that brings rows back to the program that started the job.
//
// A payload holds a batch: for each row its event time (8 bytes, little-endian), the length of its encoding (unsigned
// varint) and the encoding. How a row is encoded is the caller's choice.
package collect
