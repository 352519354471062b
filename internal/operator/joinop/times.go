package joinop

import "encoding/binary"

// appendTime appends a time so that the order of the bytes is the order of the times.
func appendTime(dst []byte, t int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(t)^1<<63)
}

func timeOf(enc []byte) int64 { return int64(binary.BigEndian.Uint64(enc) ^ 1<<63) }
