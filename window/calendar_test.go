package window

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The expected edges are the published changes of the clocks, written in UTC by hand.
func TestLocalWindows(t *testing.T) {
	newYork, saoPaulo, beirut := mustZone(t, "America/New_York"), mustZone(t, "America/Sao_Paulo"), mustZone(t, "Asia/Beirut")
	lordHowe, samoa, havana, stJohns := mustZone(t, "Australia/Lord_Howe"), mustZone(t, "Pacific/Apia"), mustZone(t, "America/Havana"), mustZone(t, "America/St_Johns")
	kolkata := mustZone(t, "Asia/Kolkata")
	for _, c := range []struct {
		name           string
		spec           Spec
		at, start, end string
	}{
		{"spring forward: a day of 23 hours", Days(1).In(newYork), "2013-03-10T12:00:00Z", "2013-03-10T05:00:00Z", "2013-03-11T04:00:00Z"},
		{"its last instant", Days(1).In(newYork), "2013-03-11T03:59:59.999Z", "2013-03-10T05:00:00Z", "2013-03-11T04:00:00Z"},
		{"fall back: a day of 25 hours", Days(1).In(newYork), "2013-11-03T05:30:00Z", "2013-11-03T04:00:00Z", "2013-11-04T05:00:00Z"},
		{"the hour shown twice is of the same day", Days(1).In(newYork), "2013-11-03T06:30:00Z", "2013-11-03T04:00:00Z", "2013-11-04T05:00:00Z"},
		{"24 hours in a zone are a local day", Tumbling(24 * time.Hour).In(newYork), "2013-11-03T06:30:00Z", "2013-11-03T04:00:00Z", "2013-11-04T05:00:00Z"},
		{"24 hours without a zone are not", Tumbling(24 * time.Hour), "2013-11-03T06:30:00Z", "2013-11-03T00:00:00Z", "2013-11-04T00:00:00Z"},
		{"a day that starts at six by the local clock", Days(1).Offset(6 * time.Hour).In(newYork), "2013-03-10T12:00:00Z", "2013-03-10T10:00:00Z", "2013-03-11T10:00:00Z"},
		{"the short day then ends at six too", Days(1).Offset(6 * time.Hour).In(newYork), "2013-03-10T09:59:59Z", "2013-03-09T11:00:00Z", "2013-03-10T10:00:00Z"},
		{"midnight skipped: the day starts at 01:00", Days(1).In(saoPaulo), "2017-10-15T12:00:00Z", "2017-10-15T03:00:00Z", "2017-10-16T02:00:00Z"},
		{"and the day before ends there", Days(1).In(saoPaulo), "2017-10-15T02:59:59.999Z", "2017-10-14T03:00:00Z", "2017-10-15T03:00:00Z"},
		{"midnight skipped in the east", Days(1).In(beirut), "2013-03-31T12:00:00Z", "2013-03-30T22:00:00Z", "2013-03-31T21:00:00Z"},
		{"back from midnight to 23:00: the day before is long", Days(1).In(saoPaulo), "2018-02-18T02:30:00Z", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"},
		{"a change of half an hour: 23.5 hours", Days(1).In(lordHowe), "2013-10-06T00:00:00Z", "2013-10-05T13:30:00Z", "2013-10-06T13:00:00Z"},
		{"a change of half an hour: 24.5 hours", Days(1).In(lordHowe), "2013-04-07T00:00:00Z", "2013-04-06T13:00:00Z", "2013-04-07T13:30:00Z"},
		{"a day that does not exist: the 29th is followed by the 31st", Days(1).In(samoa), "2011-12-30T09:59:59.999Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"a day that does not exist: the 31st", Days(1).In(samoa), "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		{"midnight shown twice: the day starts at the first", Days(1).In(havana), "2013-11-03T04:30:00Z", "2013-11-03T04:00:00Z", "2013-11-04T05:00:00Z"},
		{"back from 00:01 to 23:01: the day has begun", Days(1).In(stJohns), "2006-10-29T02:45:00Z", "2006-10-29T02:30:00Z", "2006-10-30T03:30:00Z"},
		{"a week starts on Monday", Weeks(1), "1970-01-01T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z"},
		{"a week in a zone with the change on its last day", Weeks(1).In(newYork), "2013-03-10T12:00:00Z", "2013-03-04T05:00:00Z", "2013-03-11T04:00:00Z"},
		{"a week from Sunday", Weeks(1).Offset(-24 * time.Hour), "2020-08-02T19:58:52Z", "2020-08-02T00:00:00Z", "2020-08-09T00:00:00Z"},
		{"a month", Months(1), "2012-02-29T12:00:00Z", "2012-02-01T00:00:00Z", "2012-03-01T00:00:00Z"},
		{"a month before 1970", Months(1), "1969-12-31T23:59:59.999Z", "1969-12-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		{"a month with a change of the clocks", Months(1).In(newYork), "2013-03-31T12:00:00Z", "2013-03-01T05:00:00Z", "2013-04-01T04:00:00Z"},
		{"a quarter", Months(3).In(newYork), "2013-02-10T00:00:00Z", "2013-01-01T05:00:00Z", "2013-04-01T04:00:00Z"},
		{"a fiscal year from the 6th", Months(12).Offset(5 * 24 * time.Hour), "2013-01-05T00:00:00Z", "2012-01-06T00:00:00Z", "2013-01-06T00:00:00Z"},

		{"an hour on a clock that is half an hour off", Tumbling(time.Hour).In(kolkata), "2013-01-01T10:00:00Z", "2013-01-01T09:30:00Z", "2013-01-01T10:30:00Z"},
		{"an hour shown twice: the first", Tumbling(time.Hour).In(newYork), "2013-11-03T05:40:00Z", "2013-11-03T05:00:00Z", "2013-11-03T06:00:00Z"},
		{"an hour shown twice: the second is another window", Tumbling(time.Hour).In(newYork), "2013-11-03T06:40:00Z", "2013-11-03T06:00:00Z", "2013-11-03T07:00:00Z"},
		{"six hours with a skipped hour: five", Tumbling(6 * time.Hour).In(newYork), "2013-03-10T07:30:00Z", "2013-03-10T05:00:00Z", "2013-03-10T10:00:00Z"},
		{"six hours with a repeated hour: seven", Tumbling(6 * time.Hour).In(newYork), "2013-11-03T06:30:00Z", "2013-11-03T04:00:00Z", "2013-11-03T11:00:00Z"},
		{"an hour of which half is skipped", Tumbling(time.Hour).In(lordHowe), "2013-10-05T15:40:00Z", "2013-10-05T15:30:00Z", "2013-10-05T16:00:00Z"},
		{"an hour of which half is shown twice", Tumbling(time.Hour).In(lordHowe), "2013-04-06T15:10:00Z", "2013-04-06T14:00:00Z", "2013-04-06T15:30:00Z"},
		{"half an hour shown twice", Tumbling(30 * time.Minute).In(lordHowe), "2013-04-06T15:10:00Z", "2013-04-06T15:00:00Z", "2013-04-06T15:30:00Z"},
		{"two hours that start with a midnight shown twice: three", Tumbling(2 * time.Hour).In(havana), "2013-11-03T05:30:00Z", "2013-11-03T04:00:00Z", "2013-11-03T07:00:00Z"},
		{"an hour on Los Angeles' clock, first (P33)", Tumbling(time.Hour).In(mustZone(t, "America/Los_Angeles")), "2023-11-05T08:40:00Z", "2023-11-05T08:00:00Z", "2023-11-05T09:00:00Z"},
		{"an hour on Los Angeles' clock, second (P33)", Tumbling(time.Hour).In(mustZone(t, "America/Los_Angeles")), "2023-11-05T09:40:00Z", "2023-11-05T09:00:00Z", "2023-11-05T10:00:00Z"},
	} {
		g := mustGrid(t, c.spec)
		want := Window{utc(t, c.start), utc(t, c.end)}
		got := g.AppendWindows(nil, utc(t, c.at))
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %s is in %v, want %v", c.name, c.at, got, want)
		}
	}
}

// Law: within a day's window the local date never is an earlier one than at its start, and the date before the start is
// another. (Where the clock goes back over midnight, the end of a window shows the date before once more, so only the
// start is exact.)
func TestDaysAreLocalDates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom([]string{"America/New_York", "America/Sao_Paulo", "Asia/Beirut", "Australia/Lord_Howe", "Pacific/Apia", "Europe/Berlin"}).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		ts := rapid.Int64Range(0, 2e12).Draw(t, "ts")
		w := newGrid(Days(1).In(loc)).PaneOf(ts)
		date := func(ms int64) string { return time.UnixMilli(ms).In(loc).Format(time.DateOnly) }
		if date(ts) != date(w.Start) || date(w.Start-1) >= date(w.Start) || date(w.End) <= date(ts) {
			t.Fatalf("%s is in %v: dates %s, %s, %s, %s", date(ts), w, date(w.Start-1), date(w.Start), date(w.End-1), date(w.End))
		}
	})
}

// Law: firstInstant is the first of all instants at which the clock shows the local time or a later one.
func TestFirstInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom([]string{"America/New_York", "America/Sao_Paulo", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe"}).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		const minute = 60 * 1000
		local := someTime(t) / minute * minute
		got := firstInstant(local, loc)
		for at := local - zoneReach; at < got; at += minute {
			if at+offsetAt(at, loc) >= local {
				t.Fatalf("firstInstant(%d) = %d, but the clock shows it at %d", local, got, at)
			}
		}
		if got+offsetAt(got, loc) < local {
			t.Fatalf("firstInstant(%d) = %d, when the clock shows %d", local, got, got+offsetAt(got, loc))
		}
	})
}
