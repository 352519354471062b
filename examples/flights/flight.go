package main

import (
	"path"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/format/csv"
	"github.com/weir-stream/weir/types"
)

// Flight is what the jobs need of a row of the file; its other columns are skipped.
type Flight struct {
	Year      int32              `csv:"year"`
	Month     int32              `csv:"month"`
	Day       int32              `csv:"day"`
	Departed  types.Null[int32]  `csv:"dep_time"`
	Scheduled int32              `csv:"sched_dep_time"`
	Delay     types.Null[int32]  `csv:"dep_delay"`
	Number    int32              `csv:"flight"`
	Tail      types.Null[string] `csv:"tailnum"`
	Origin    string             `csv:"origin"`
	Dest      string             `csv:"dest"`
}

// scheduled returns the instant of the scheduled departure: the date and a time of day such as 517 or 2400, on the clocks
// of New York.
func (f Flight) scheduled(ny *time.Location) time.Time {
	return time.Date(int(f.Year), time.Month(f.Month), int(f.Day), int(f.Scheduled/100), int(f.Scheduled%100), 0, 0, ny)
}

// instant returns when the flight left, which is its event time, or the zero time if it never did.
func (f Flight) instant(ny *time.Location) time.Time {
	if !f.Departed.Valid || !f.Delay.Valid {
		return time.Time{}
	}
	return f.scheduled(ny).Add(time.Duration(f.Delay.V) * time.Minute)
}

// readFlights reads a year of files. Two things make it harder than it looks:
//
// The names of the months sort as 01, 10, 11, 12 in the original file, and whatever the order, several readers read several
// months at a time. So every file has a watermark of its own (the engine's doing), all files are open side by side, and a
// file that is more than a day ahead of the slowest one has to wait.
//
// Within a file rows come by scheduled day and then by departure, so that a flight that left a day late is 24 hours behind.
func readFlights(env *weir.Env, o options, ny *time.Location) weir.Stream[Flight] {
	instant := func(f Flight) time.Time { return f.instant(ny) }
	if o.naive {
		return weir.From(env, "flights", file.CSV[Flight](month(o.data, "01"), dialect,
			file.Also(month(o.data, "10"), month(o.data, "11"), month(o.data, "12"), month(o.data, "0[2-9]"))),
			weir.EventTime(instant, weir.OutOfOrder(25*time.Hour)))
	}
	return readMonth(env, o, "*", ny)
}

// readMonth reads the file of one month, or of all side by side, each with its own watermark.
func readMonth(env *weir.Env, o options, which string, ny *time.Location) weir.Stream[Flight] {
	return weir.From(env, "flights", file.CSV[Flight](month(o.data, which), dialect, file.SideBySide()),
		weir.EventTime(func(f Flight) time.Time { return f.instant(ny) }, weir.OutOfOrder(25*time.Hour), weir.Aligned(24*time.Hour)))
}

var dialect = file.Dialect(csv.Options{Nulls: []string{"NA"}})

func month(dir, which string) string { return path.Join(dir, "flights-2013-"+which+".csv.zst") }
