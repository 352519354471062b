package window

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
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

// The specs of testdata/flink_2.3.0_operator.txt, by number.
func operatorSpecs() []Spec {
	far := func(a, b int) float64 { return math.Abs(float64(a - b)) }
	ten, twenty, six, lateSix := Tumbling(ms(10)), Tumbling(ms(20)), Session(ms(6)), Session(ms(6)).AllowedLateness(ms(8))
	return []Spec{
		ten,
		ten.AllowedLateness(ms(5)),
		ten.Offset(ms(3)),
		Sliding(ms(10), ms(4)).AllowedLateness(ms(3)),
		six,
		lateSix,
		ten.Trigger(OnCount(3)),
		ten.AllowedLateness(ms(5)).Trigger(Purging(OnCount(2))),
		twenty.AllowedLateness(ms(10)).Trigger(EveryEventTime(ms(7))),
		six.Trigger(EveryEventTime(ms(5))),
		lateSix.Trigger(Purging(OnEventTime())),
		twenty.AllowedLateness(ms(8)).Evictor(KeepLast(2)),
		Sliding(ms(15), ms(5)).Evictor(KeepWithin(ms(4))),
		Global().Trigger(Purging(OnCount(3))),
		Global().Trigger(OnCount(2)).Evictor(KeepLast(4)),
		lateSix.Trigger(OnCount(3)),
		Global().Trigger(OnDelta(3000, far)),
		Sliding(ms(3), ms(7)),
		twenty.Trigger(Purging(OnDelta(2000, far))),
		lateSix.Evictor(KeepLast(2).After()),
		SessionDynamic(func(row int) time.Duration { return ms(int64(row%9) + 1) }).AllowedLateness(ms(5)),
		twenty.AllowedLateness(ms(8)).Evictor(KeepNear(4000, far)),
	}
}

// What comes out, results and late rows, is what came out of Flink: the same lines, whatever their order among windows that
// fire at one watermark.
func TestOperatorAsFlink(t *testing.T) {
	text, err := os.ReadFile("testdata/flink_2.3.0_operator.txt")
	if err != nil {
		t.Fatal(err)
	}
	specs := operatorSpecs()
	scenarios := strings.Split(string(text), "spec ")[1:]
	if len(scenarios) != 3*len(specs) {
		t.Errorf("%d scenarios, want %d", len(scenarios), 3*len(specs))
	}
	for _, scenario := range scenarios {
		lines := strings.Split(strings.TrimSpace(scenario), "\n")
		number, script, _ := strings.Cut(lines[0], ":")
		i, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		o := newToy(t, specs[i], func(rows []int) string { return fmt.Sprintf("%d %s", len(rows), sum(rows)) })
		for step := range strings.FieldsSeq(script) {
			var row int
			var at int64
			if _, err := fmt.Sscanf(step, "wm=%d", &at); err == nil {
				o.advance(EventTime, at)
			} else if _, err := fmt.Sscanf(step, "%d@%d", &row, &at); err == nil {
				o.row(row, at)
			} else {
				t.Fatalf("step %q", step)
			}
		}
		o.advance(EventTime, endOfTime)
		for _, row := range o.late {
			o.out = append(o.out, fmt.Sprintf("late %d", row))
		}
		want := lines[1:]
		slices.Sort(want)
		slices.Sort(o.out)
		if !slices.Equal(o.out, want) {
			t.Errorf("%s:%s\n got %q\nwant %q", specs[i], script, o.out, want)
		}
	}
}
