package file_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/conntest"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/format/csv"
	"github.com/weir-stream/weir/types"
)

// flight has 20 fields, as the speed table wants it.
type flight struct {
	Year         int16               `csv:"year"`
	Month        int8                `csv:"month"`
	Day          int8                `csv:"day"`
	DepTime      types.Null[int32]   `csv:"dep_time"`
	SchedDepTime int32               `csv:"sched_dep_time"`
	DepDelay     types.Null[int32]   `csv:"dep_delay"`
	ArrTime      types.Null[int32]   `csv:"arr_time"`
	SchedArrTime int32               `csv:"sched_arr_time"`
	ArrDelay     types.Null[int32]   `csv:"arr_delay"`
	Carrier      string              `csv:"carrier"`
	Flight       int32               `csv:"flight"`
	Tailnum      types.Null[string]  `csv:"tailnum"`
	Origin       string              `csv:"origin"`
	Dest         string              `csv:"dest"`
	AirTime      types.Null[float64] `csv:"air_time"`
	Distance     float64             `csv:"distance"`
	Hour         int8                `csv:"hour"`
	Minute       int8                `csv:"minute"`
	TimeHour     time.Time           `csv:"time_hour"`
	Cancelled    bool                `csv:"cancelled"`
}

const benchRows = 50000

func flightTable() []byte {
	var b bytes.Buffer
	b.WriteString("year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour,cancelled\n")
	for i := range benchRows {
		if i%40 == 0 {
			fmt.Fprintf(&b, "2013,%d,%d,NA,630,NA,NA,815,NA,EV,%d,NA,EWR,RDU,NA,416,6,30,2013-01-01T11:00:00Z,true\n", i%12+1, i%28+1, i%5000)
			continue
		}
		fmt.Fprintf(&b, "2013,%d,%d,%d,%d,%d,%d,%d,%d,UA,%d,N%05d,JFK,IAH,%d,%d,5,%d,2013-01-%02dT%02d:00:00Z,false\n",
			i%12+1, i%28+1, 500+i%1800, 515, i%60-10, 830, 819, i%90-30, i%5000, i*7%4000, i%600, i%3000, i%60, i%28+1, i%24)
	}
	return b.Bytes()
}

func benchSource(b *testing.B, name string, content []byte) {
	fsys := conntest.NewFS(map[string]string{name: string(content)})
	src := file.CSV[flight](name, file.Dialect(csv.Options{Nulls: []string{"NA", ""}}))
	batch := make([]flight, 0, 128)
	b.ReportAllocs()
	for b.Loop() {
		e, err := src.Enumerator(connector.EnumeratorContext{Ctx: context.Background(), Parallelism: 1, FS: fsys, Log: slog.New(slog.DiscardHandler)}, nil)
		if err != nil {
			b.Fatal(err)
		}
		r, err := src.Reader(connector.ReaderContext{Ctx: context.Background(), Parallelism: 1, FS: fsys})
		if err != nil {
			b.Fatal(err)
		}
		s, _, _, _, err := e.Next(0)
		if err != nil {
			b.Fatal(err)
		}
		if err := r.AddSplit(s); err != nil {
			b.Fatal(err)
		}
		rows := 0
		for st := connector.More; st != connector.SplitDone; {
			out := connector.Batch[flight]{Rows: batch}
			if _, st, err = r.Poll(&out); err != nil {
				b.Fatal(err)
			}
			rows += len(out.Rows)
		}
		if rows != benchRows {
			b.Fatal(rows)
		}
	}
	ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / benchRows
	b.ReportMetric(ns, "ns/row")
	b.ReportMetric(1e3/ns, "Mrows/s")
}

// BenchmarkFlights reads 20 columns from a plain file into a struct of 20 fields.
func BenchmarkFlights(b *testing.B) { benchSource(b, "f.csv", flightTable()) }

// BenchmarkFlightsZstd reads the same, compressed.
func BenchmarkFlightsZstd(b *testing.B) {
	benchSource(b, "f.csv.zst", []byte(zst(string(flightTable()))))
}

// BenchmarkFlightsGzip reads the same, compressed.
func BenchmarkFlightsGzip(b *testing.B) {
	benchSource(b, "f.csv.gz", []byte(gz(string(flightTable()))))
}

// BenchmarkNewlines looks for the line ends of the same text: the floor.
func BenchmarkNewlines(b *testing.B) {
	text := flightTable()
	for b.Loop() {
		for at := 0; at < len(text); {
			at += bytes.IndexByte(text[at:], '\n') + 1
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}
