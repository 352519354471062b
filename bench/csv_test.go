package bench

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/file"
)

// record is a row of 20 fields.
type record struct {
	A1, A2, A3, A4, A5, A6, A7, A8, A9, A10 int64
	F1, F2, F3, F4                          float64
	S1, S2, S3, S4, S5, S6                  string
}

const csvRows = 500_000

// BenchmarkCSV is a file of 20 columns, read into structs of 20 fields and counted, on one core. Beside it: package
// encoding/csv with strconv over the same file.
func BenchmarkCSV(b *testing.B) {
	path := filepath.Join(b.TempDir(), "rows.csv")
	data := csvFile()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	var engine, bare cost
	for b.Loop() {
		var got int64
		env := weir.NewEnv("csv")
		weir.From(env, "rows", file.CSV[record](path)).To("sink", count[record]{&got})
		engine = engine.plus(run(b, env))
		if got != csvRows {
			b.Fatalf("%d rows", got)
		}
		bare = bare.plus(measure(func() { bareCSV(b, data) }))
	}
	n := int64(csvRows) * int64(b.N)
	report(b, n, engine, bare)
	b.ReportMetric(float64(n)/engine.cpu.Seconds()/1e6, "Mrows/cpu-s")
	b.ReportMetric(float64(len(data))*float64(b.N)/engine.cpu.Seconds()/1e6, "MB/cpu-s")
}

func csvFile() []byte {
	var w bytes.Buffer
	var names []string
	for i := range 10 {
		names = append(names, "A"+strconv.Itoa(i+1))
	}
	for i := range 4 {
		names = append(names, "F"+strconv.Itoa(i+1))
	}
	for i := range 6 {
		names = append(names, "S"+strconv.Itoa(i+1))
	}
	w.WriteString(strings.Join(names, ",") + "\n")
	var line []byte
	for i := range csvRows {
		line = line[:0]
		for j := range 10 {
			line = append(strconv.AppendInt(line, int64(i*(j+1))%100_000, 10), ',')
		}
		for j := range 4 {
			line = append(strconv.AppendFloat(line, float64(i%1000)+float64(j)/4, 'f', -1, 64), ',')
		}
		for j := range 6 {
			line = append(append(line, "text"...), byte('a'+(i+j)%26))
			if j < 5 {
				line = append(line, ',')
			}
		}
		w.Write(append(line, '\n'))
	}
	return w.Bytes()
}

func bareCSV(b *testing.B, data []byte) {
	b.Helper()
	r := csv.NewReader(bytes.NewReader(data))
	r.ReuseRecord = true
	if _, err := r.Read(); err != nil {
		b.Fatal(err)
	}
	for {
		f, err := r.Read()
		if err != nil {
			break
		}
		for _, s := range f[:10] {
			n, _ := strconv.ParseInt(s, 10, 64)
			keep += n
		}
		for _, s := range f[10:14] {
			x, _ := strconv.ParseFloat(s, 64)
			keep += int64(x)
		}
	}
}
