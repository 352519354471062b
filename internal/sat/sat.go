package sat

import "math"

// Add returns a+b, or the end of the range beyond which it lies.
func Add(a, b int64) int64 {
	sum := a + b
	switch {
	case b > 0 && sum < a:
		return math.MaxInt64
	case b < 0 && sum > a:
		return math.MinInt64
	}
	return sum
}

// Sub returns a-b, or the end of the range beyond which it lies.
func Sub(a, b int64) int64 {
	diff := a - b
	switch {
	case b < 0 && diff < a:
		return math.MaxInt64
	case b > 0 && diff > a:
		return math.MinInt64
	}
	return diff
}
