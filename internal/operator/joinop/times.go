package joinop

import (
	"encoding/binary"
	"math"
)

// appendTime appends a time so that the order of the bytes is the order of the times.
func appendTime(dst []byte, t int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(t)^1<<63)
}

func timeOf(enc []byte) int64 { return int64(binary.BigEndian.Uint64(enc) ^ 1<<63) }

// add adds two times, and stays at the end of the range instead of wrapping around.
func add(a, b int64) int64 {
	sum := a + b
	switch {
	case b > 0 && sum < a:
		return math.MaxInt64
	case b < 0 && sum > a:
		return math.MinInt64
	}
	return sum
}
