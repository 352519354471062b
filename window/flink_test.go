package window

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// The files testdata/*.jsonl hold what Apache Flink 2.3.0 makes of testdata/*.sql; their first line names the version.

// flinkRows reads the rows that statement stmt gave.
func flinkRows(t *testing.T, file string, stmt int) (rows [][]any) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var line struct {
			Flink string
			Stmt  int
			Row   []any
			Error any
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Error != nil || line.Flink != "" && line.Flink != "2.3.0" {
			t.Fatalf("%s: %s", file, lines.Text())
		}
		if line.Stmt == stmt && line.Row != nil {
			rows = append(rows, line.Row)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no rows of statement %d", file, stmt)
	}
	return rows
}

func flinkTime(t *testing.T, v any) int64 {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05.000", v.(string))
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMilli()
}

func TestAssignAsFlink(t *testing.T) {
	const second = time.Second
	for stmt, spec := range map[int]Spec{
		2: Tumbling(10 * second),
		3: Tumbling(10 * second).Offset(3 * second),
		4: Tumbling(10 * second).Offset(-3 * second),
		5: Tumbling(7 * 24 * time.Hour),
		6: Sliding(15*second, 5*second),
		7: Sliding(15*second, 5*second).Offset(2 * second),
		8: Sliding(15*second, 5*second).Offset(-2 * second),
	} {
		want, got := map[int64][]Window{}, map[int64][]Window{}
		for _, row := range flinkRows(t, "testdata/assign.jsonl", stmt) {
			ts := flinkTime(t, row[0])
			want[ts] = append(want[ts], Window{flinkTime(t, row[1]), flinkTime(t, row[2])})
		}
		g := mustGrid(t, spec)
		for ts, windows := range want {
			slices.SortFunc(windows, func(a, b Window) int { return int(a.Start - b.Start) })
			if got[ts] = g.AppendWindows(nil, ts); !slices.Equal(got[ts], windows) {
				t.Errorf("%s: %s is in %v, Flink has %v", spec, time.UnixMilli(ts).UTC(), got[ts], windows)
			}
		}
	}
}

var assignTimes = []string{
	"1970-01-01 00:00:00.000", "1970-01-01 00:00:00.001", "1969-12-31 23:59:59.999", "1969-12-31 23:59:55.000", "1969-12-31 23:59:50.000",
	"1970-01-01 00:00:09.999", "1970-01-01 00:00:10.000", "1970-01-01 00:00:13.000", "2013-03-10 06:59:59.999", "2013-03-10 07:00:00.000", "1901-02-03 04:05:06.789",
}

func TestGroupsAsFlink(t *testing.T) {
	for stmt, spec := range map[int]Spec{
		9:  Sliding(1600*time.Millisecond, 700*time.Millisecond),
		10: Sliding(3*time.Second, 7*time.Second),
		11: Session(3 * time.Second),
		12: Session(4999 * time.Millisecond),
		13: Session(5 * time.Second),
	} {
		o := newToy(t, spec, func(rows []int) string { return fmt.Sprint(len(rows)) })
		for i, at := range assignTimes {
			o.row(i, flinkTime(t, at))
		}
		o.advance(EventTime, endOfTime)
		var want []string
		for _, row := range flinkRows(t, "testdata/assign.jsonl", stmt) {
			want = append(want, fmt.Sprintf("[%d,%d) %v", flinkTime(t, row[0]), flinkTime(t, row[1]), row[2]))
		}
		slices.Sort(want)
		slices.Sort(o.out)
		if !slices.Equal(o.out, want) {
			t.Errorf("%s gives\n%q, Flink\n%q", spec, o.out, want)
		}
	}
}

// The watermark follows each row that raises it, as in late.sql.
func TestLateAsFlink(t *testing.T) {
	times := []int64{62000, 64000, 63000, 69998, 60000, 69999, 65000, 70000, 90000, 80000, 85000, 85001}
	for stmt, spec := range map[int]Spec{
		2: Tumbling(10 * time.Second),
		3: Tumbling(10 * time.Second).Offset(3 * time.Second),
		4: Sliding(10*time.Second, 5*time.Second),
		5: Session(5 * time.Second),
	} {
		o := newToy(t, spec, func(rows []int) string { return fmt.Sprintf("%d %s", len(rows), sum(rows)) })
		for i, at := range times {
			o.row(1<<i, at)
			if at > o.watermark {
				o.advance(EventTime, at)
			}
		}
		o.advance(EventTime, endOfTime)
		var want []string
		for _, row := range flinkRows(t, "testdata/late.jsonl", stmt) {
			want = append(want, fmt.Sprintf("[%d,%d) %v %v", flinkTime(t, row[0]), flinkTime(t, row[1]), row[2], row[3]))
		}
		if !slices.Equal(o.out, want) {
			t.Errorf("%s gives\n%q, Flink\n%q", spec, o.out, want)
		}
	}
}
