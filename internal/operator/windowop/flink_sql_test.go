package windowop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/window"
)

func flinkTime(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05.000", text)
	must(t, err)
	return at.UnixMilli()
}

// scriptRows reads the rows of the table in an SQL script.
func scriptRows(t *testing.T, file string) (rows []optest.Row[bid]) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	for _, m := range regexp.MustCompile(`\["(\w+)", (\d+), "([^"]+)"\]`).FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.ParseInt(m[2], 10, 64)
		must(t, err)
		rows = append(rows, at(m[1], n, flinkTime(t, m[3])))
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no rows", file)
	}
	return rows
}

// The SQL group windows of Flink 2.3.0 over testdata/groups.sql give the same windows, late rows left out. Regenerate the values
// with Flink 2.3.0 at parallelism 1 and without watermark interval.
func TestGroupWindowsAsFlinkSQL(t *testing.T) {
	rows := scriptRows(t, "testdata/groups.sql")
	for stmt, spec := range map[int]window.Spec{
		2: window.Tumbling(10 * time.Second),
		3: window.Sliding(10*time.Second, 4*time.Second),
		4: window.Session(5 * time.Second),
	} {
		want := sqlSums(t, "testdata/groups.jsonl", stmt)
		for name, op := range bidOps(t, spec) {
			h := opened(t, op(), 0)
			high := int64(event.NoTime)
			for _, r := range rows {
				must(t, optest.Feed(h, 0, hashBids, r))
				if r.Time > high {
					high = r.Time
					must(t, h.Watermark(high-2000))
				}
			}
			must(t, h.End(1))
			var got []string
			for _, o := range optest.Values(optest.Take[out](h)) {
				got = append(got, o.String())
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s:\n got %q\nwant %q", spec, name, got, want)
			}
			if h.Context.Counts.Late.Load() == 0 {
				t.Errorf("%s, %s: no row was late", spec, name)
			}
		}
	}
}

// sqlSums reads the results of a statement as bidOps writes them.
func sqlSums(t *testing.T, file string, stmt int) (lines []string) {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var line struct {
			Flink string
			Stmt  int
			Row   []any
			Error any
		}
		must(t, json.Unmarshal(s.Bytes(), &line))
		if line.Error != nil || line.Flink != "" && line.Flink != "2.3.0" {
			t.Fatalf("%s: %s", file, s.Text())
		}
		if line.Stmt == stmt && line.Row != nil {
			lines = append(lines, fmt.Sprintf("%s[%d,%d)=%v", line.Row[0], flinkTime(t, line.Row[1].(string)), flinkTime(t, line.Row[2].(string)), line.Row[4]))
		}
	}
	if len(lines) == 0 {
		t.Fatalf("%s has no rows of statement %d", file, stmt)
	}
	slices.Sort(lines)
	return lines
}
