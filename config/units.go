package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// ByteSize is a number of bytes.
type ByteSize int64

// The units of sizes. Like Flink's, they are powers of 1024.
const (
	Byte ByteSize = 1
	KB            = 1024 * Byte
	MB            = 1024 * KB
	GB            = 1024 * MB
	TB            = 1024 * GB
)

var errUnit = errors.New("not a number with a unit")

type unit[T any] struct {
	size  T
	names []string // the first one is used for printing
}

var sizeUnits = []unit[ByteSize]{
	{TB, []string{"tb", "t", "tib", "tebibytes"}},
	{GB, []string{"gb", "g", "gib", "gibibytes"}},
	{MB, []string{"mb", "m", "mib", "mebibytes"}},
	{KB, []string{"kb", "k", "kib", "kibibytes"}},
	{Byte, []string{"bytes", "b", "byte"}},
}

var durationUnits = []unit[time.Duration]{
	{24 * time.Hour, []string{"d", "day", "days"}},
	{time.Hour, []string{"h", "hour", "hours"}},
	{time.Minute, []string{"min", "m", "minute", "minutes"}},
	{time.Second, []string{"s", "sec", "secs", "second", "seconds"}},
	{time.Millisecond, []string{"ms", "milli", "millis", "millisecond", "milliseconds"}},
	{time.Microsecond, []string{"us", "µs", "μs", "micro", "micros", "microsecond", "microseconds"}},
	{time.Nanosecond, []string{"ns", "nano", "nanos", "nanosecond", "nanoseconds"}},
}

// String prints the size in the largest unit that divides it: "64 kb", "1000 bytes".
func (b ByteSize) String() string { return formatUnits(b, sizeUnits) }

// FormatDuration prints the duration in the largest unit that divides it: "90 s", "3 min".
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0 ms"
	}
	return formatUnits(d, durationUnits)
}

// ParseBytes reads a size as Flink writes it: "64kb", "1 gb", "1024". Units are powers of 1024; without one it counts bytes.
func ParseBytes(s string) (ByteSize, error) { return parseUnits(s, sizeUnits, Byte) }

// ParseDuration reads a duration as Flink writes it ("10 ms", "3 min", "1 d"; a bare number counts milliseconds) or as Go
// does ("1h30m"). A negative duration is refused.
func ParseDuration(s string) (time.Duration, error) {
	if d, err := parseUnits(s, durationUnits, time.Millisecond); err == nil {
		return d, nil
	}
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil || d < 0 {
		return 0, errUnit
	}
	return d, nil
}

func formatUnits[T ~int64](v T, units []unit[T]) string {
	for _, u := range units {
		if v != 0 && v%u.size == 0 {
			return strconv.FormatInt(int64(v/u.size), 10) + " " + u.names[0]
		}
	}
	return "0 " + units[len(units)-1].names[0]
}

// parseUnits reads a whole number that is not negative, followed by a unit or nothing.
func parseUnits[T ~int64](s string, units []unit[T], bare T) (T, error) {
	s = strings.TrimSpace(s)
	digits := 0
	for digits < len(s) && '0' <= s[digits] && s[digits] <= '9' {
		digits++
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if err != nil {
		return 0, errUnit
	}
	name := strings.ToLower(strings.TrimSpace(s[digits:]))
	size := bare
	if name != "" {
		if size = findUnit(name, units); size == 0 {
			return 0, errUnit
		}
	}
	if n > math.MaxInt64/int64(size) {
		return 0, errUnit
	}
	return T(n) * size, nil
}

func findUnit[T ~int64](name string, units []unit[T]) T {
	for _, u := range units {
		for _, n := range u.names {
			if n == name {
				return u.size
			}
		}
	}
	return 0
}
