package csv_test

import (
	"bytes"
	stdcsv "encoding/csv"
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/weir-stream/weir/format"
	"github.com/weir-stream/weir/format/csv"
	"github.com/weir-stream/weir/types"
)

// flight has the shape of the flights file: 19 columns, six of which may be missing.
type flight struct {
	Year          int16               `csv:"year"`
	Month         int8                `csv:"month"`
	Day           int8                `csv:"day"`
	DepTime       types.Null[int32]   `csv:"dep_time"`
	SchedDepTime  int32               `csv:"sched_dep_time"`
	DepDelay      types.Null[int32]   `csv:"dep_delay"`
	ArrTime       types.Null[int32]   `csv:"arr_time"`
	SchedArrTime  int32               `csv:"sched_arr_time"`
	ArrDelay      types.Null[int32]   `csv:"arr_delay"`
	Carrier       string              `csv:"carrier"`
	Flight        int32               `csv:"flight"`
	Tailnum       types.Null[string]  `csv:"tailnum"`
	Origin        string              `csv:"origin"`
	Dest          string              `csv:"dest"`
	AirTime       types.Null[float64] `csv:"air_time"`
	Distance      float64             `csv:"distance"`
	Hour          int8                `csv:"hour"`
	Minute        int8                `csv:"minute"`
	TimeHour      time.Time           `csv:"time_hour"`
	weirUnrelated int                 //lint:ignore U1000 an unexported field must not disturb the reader
}

const flightHead = "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour\n"

func flightText(rows int) []byte {
	var b bytes.Buffer
	b.WriteString(flightHead)
	for i := range rows {
		if i%40 == 0 {
			fmt.Fprintf(&b, "2013,%d,%d,NA,630,NA,NA,815,NA,EV,%d,NA,EWR,RDU,NA,416,6,30,2013-01-01T11:00:00Z\n", i%12+1, i%28+1, i%5000)
			continue
		}
		fmt.Fprintf(&b, "2013,%d,%d,%d,%d,%d,%d,%d,%d,UA,%d,N%05d,JFK,IAH,%d,%d,5,%d,2013-01-%02dT%02d:00:00Z\n",
			i%12+1, i%28+1, 500+i%1800, 515, i%60-10, 830, 819, i%90-30, i%5000, i*7%4000, i%600, i%3000, i%60, i%28+1, i%24)
	}
	return b.Bytes()
}

const benchRows = 5000

func benchDecode[T any](b *testing.B, text []byte, opts csv.Options) {
	d, err := csv.New[T](opts).Decoder(format.DecoderContext{})
	if err != nil {
		b.Fatal(err)
	}
	n, _, err := d.Head(text, true)
	if err != nil {
		b.Fatal(err)
	}
	body := text[n:]
	batch := make([]T, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		rows := 0
		for at := 0; at < len(body); {
			out, k, err := d.Decode(batch[:0], body[at:min(len(body), at+64<<10)], at+64<<10 >= len(body))
			if err != nil {
				b.Fatal(err)
			}
			rows += len(out)
			at += k
		}
		if rows != benchRows {
			b.Fatal(rows)
		}
	}
	perRow(b)
}

func perRow(b *testing.B) {
	ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / benchRows
	b.ReportMetric(ns, "ns/row")
	b.ReportMetric(1e3/ns, "Mrows/s")
}

// BenchmarkFlights decodes 19 columns into 19 fields.
func BenchmarkFlights(b *testing.B) {
	benchDecode[flight](b, flightText(benchRows), csv.Options{Nulls: []string{"NA", ""}})
}

// BenchmarkFourOfNineteen decodes four fields and skips 15 columns.
func BenchmarkFourOfNineteen(b *testing.B) {
	benchDecode[struct {
		Origin   string            `csv:"origin"`
		Dest     string            `csv:"dest"`
		DepDelay types.Null[int32] `csv:"dep_delay"`
		Distance float64           `csv:"distance"`
	}](b, flightText(benchRows), csv.Options{Nulls: []string{"NA", ""}})
}

// BenchmarkQuoted decodes rows whose texts are quoted.
func BenchmarkQuoted(b *testing.B) {
	text := bytes.ReplaceAll(bytes.ReplaceAll(flightText(benchRows), []byte("JFK"), []byte(`"JFK"`)), []byte("IAH"), []byte(`"IAH"`))
	benchDecode[flight](b, text, csv.Options{Nulls: []string{"NA", ""}})
}

// BenchmarkStdlib does the same work by encoding/csv and strconv, with reused records.
func BenchmarkStdlib(b *testing.B) {
	text := flightText(benchRows)
	b.ReportAllocs()
	for b.Loop() {
		r := stdcsv.NewReader(bytes.NewReader(text))
		r.ReuseRecord = true
		if _, err := r.Read(); err != nil {
			b.Fatal(err)
		}
		var f flight
		rows := 0
		for {
			rec, err := r.Read()
			if err == io.EOF {
				break
			}
			f.Year, f.Month, f.Day = int16(atoi(rec[0])), int8(atoi(rec[1])), int8(atoi(rec[2]))
			f.DepTime, f.SchedDepTime, f.DepDelay = null(rec[3]), int32(atoi(rec[4])), null(rec[5])
			f.ArrTime, f.SchedArrTime, f.ArrDelay = null(rec[6]), int32(atoi(rec[7])), null(rec[8])
			f.Carrier, f.Flight, f.Origin, f.Dest = rec[9], int32(atoi(rec[10])), rec[12], rec[13]
			f.Tailnum = types.Null[string]{V: rec[11], Valid: rec[11] != "NA"}
			if rec[14] != "NA" {
				v, _ := strconv.ParseFloat(rec[14], 64)
				f.AirTime = types.Some(v)
			}
			f.Distance, _ = strconv.ParseFloat(rec[15], 64)
			f.Hour, f.Minute = int8(atoi(rec[16])), int8(atoi(rec[17]))
			f.TimeHour, err = time.Parse(time.RFC3339, rec[18])
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
		if rows != benchRows {
			b.Fatal(rows)
		}
	}
	perRow(b)
}

// BenchmarkNewlines looks for line ends only: the floor.
func BenchmarkNewlines(b *testing.B) {
	text := flightText(benchRows)
	for b.Loop() {
		rows := -1
		for at := 0; at < len(text); rows++ {
			at += bytes.IndexByte(text[at:], '\n') + 1
		}
		if rows != benchRows {
			b.Fatal(rows)
		}
	}
	perRow(b)
}

func atoi(s string) int64 {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return v
}

func null(s string) types.Null[int32] {
	if s == "NA" {
		return types.Null[int32]{}
	}
	return types.Some(int32(atoi(s)))
}
