// Package sat adds and subtracts times that stay at the end of their range instead of wrapping around: MaxInt64 is the end of
// time and MinInt64 no time at all, and both meet durations from users.
//
// The package is pure.
package sat
