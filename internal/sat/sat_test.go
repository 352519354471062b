package sat

import (
	"math"
	"math/big"
	"testing"
)

// TestAgainstBigNumbers compares all pairs of numbers around the ends and around zero with arithmetic without a limit.
func TestAgainstBigNumbers(t *testing.T) {
	var numbers []int64
	for _, at := range []int64{math.MinInt64, math.MinInt64 / 2, 0, math.MaxInt64 / 2, math.MaxInt64} {
		for d := int64(-2); d <= 2; d++ {
			numbers = append(numbers, at+d) // at the ends it wraps around, to the other end
		}
	}
	clip := func(x *big.Int) int64 {
		switch {
		case x.IsInt64():
			return x.Int64()
		case x.Sign() < 0:
			return math.MinInt64
		}
		return math.MaxInt64
	}
	for _, a := range numbers {
		for _, b := range numbers {
			x, y := big.NewInt(a), big.NewInt(b)
			if got, want := Add(a, b), clip(new(big.Int).Add(x, y)); got != want {
				t.Errorf("Add(%d, %d) = %d, want %d", a, b, got, want)
			}
			if got, want := Sub(a, b), clip(new(big.Int).Sub(x, y)); got != want {
				t.Errorf("Sub(%d, %d) = %d, want %d", a, b, got, want)
			}
		}
	}
}
