package format_test

import (
	"testing"
	"time"

	"github.com/weir-stream/weir/format"
)

// The days of a cycle of 400 years, some of all others up to the year 9999, and rubbish parse as time.Parse says.
func TestParseTimeEqualsTimeParse(t *testing.T) {
	for d := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() < 10000; d = d.Add(24*time.Hour + 3671*time.Second) {
		if y := d.Year(); (y < 1800 || y > 2200) && d.Day() < 27 {
			d = d.AddDate(0, 0, 27-d.Day())
		}
		s := d.Format(time.RFC3339)
		if got, ok := format.ParseTime([]byte(s)); !ok || got != d {
			t.Fatalf("%s = %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"2013-02-29T00:00:00Z", "2013-00-10T00:00:00Z", "2013-13-10T00:00:00Z", "2013-01-32T00:00:00Z",
		"2013-01-01T24:00:00Z", "2013-01-01T00:60:00Z", "2013-01-01T00:00:60Z", "2013-01-01t00:00:00Z", "2013-01-01T00:00:00z",
		"20a3-01-01T00:00:00Z", "2013-01-01T00:00:0 Z", "", "2013-01-01T00:00:00+01:00", "2013-04-31T00:00:00Z"} {
		if got, ok := format.ParseTime([]byte(s)); ok {
			t.Errorf("%q = %v", s, got)
		}
	}
}
