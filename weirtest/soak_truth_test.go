package weirtest

import (
	"bufio"
	"encoding/json/v2"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/window"
)

// What the jobs of the simulation have to give, by plain loops over their rows.

// lines gathers rows as the jobs' text does.
type lines []string

func (l *lines) add(what string, v any) { *l = append(*l, render(fmt.Sprint(what, " ", render(v)))) }

func (l lines) sorted() []string {
	slices.Sort(l)
	return l
}

// disordered are the rows of marks.
func disordered(n, step int64) (onTime, late []mark) {
	for i := range n {
		if i > n*7/8 && i%7 == 0 {
			late = append(late, mark{i, keys()[i%13], 1})
		} else {
			onTime = append(onTime, mark{i, keys()[i*i%13], step * (i + i*7%5)})
		}
	}
	return onTime, late
}

func ordered(n, step int64) (out []mark) {
	for i := range n {
		out = append(out, mark{i, keys()[i*i%13], step * i})
	}
	return out
}

// tumbling counts the rows of each key and window.
func tumbling(rows []mark, size int64) map[weir.Windowed[int64, int64]]bool {
	out := map[weir.Windowed[int64, int64]]bool{}
	counts := map[[2]int64]int64{}
	for _, m := range rows {
		counts[[2]int64{m.Key, m.At / size * size}]++
	}
	for k, n := range counts {
		out[weir.Windowed[int64, int64]{Key: k[0], Window: window.Window{Start: k[1] * 1000, End: (k[1] + size) * 1000}, Value: n}] = true
	}
	return out
}

func sums(rows []mark) map[int64]int64 {
	out := map[int64]int64{}
	for _, m := range rows {
		out[m.Key] += m.N
	}
	return out
}

// rightEverything is what everything gives.
func rightEverything() []string {
	a, aLate := disordered(240, 1)
	b, _ := disordered(80, 3)
	var out lines
	for w := range tumbling(a, 20) {
		out.add("window", w)
	}
	for _, m := range aLate {
		out.add("late", m)
	}
	sliding := map[[2]int64]int64{}
	for _, m := range a {
		for start := m.At/10*10 - 20; start <= m.At; start += 10 {
			sliding[[2]int64{m.Key, start}] += m.N
		}
	}
	for k, n := range sliding {
		out.add("sliding", weir.Windowed[int64, int64]{Key: k[0], Window: window.Window{Start: k[1] * 1000, End: (k[1] + 30) * 1000}, Value: n})
	}
	for _, w := range sessions(b, 7) {
		out.add("session", w)
	}
	minutes := map[[2]int64]int64{}
	for _, m := range a {
		minutes[[2]int64{m.Key, m.At/60*60 + 60}] += m.N
	}
	for k, n := range minutes {
		out.add("minute", mark{n, k[0], k[1]})
	}
	for _, m := range aLate { // its minute is over: it is one of its own
		out.add("minute", mark{m.N, m.Key, 60})
	}
	for _, m := range append(a, aLate...) {
		out.add("seen", mark{m.N, 1, 0})
	}
	for _, x := range a {
		for _, y := range b {
			if x.Key == y.Key && y.At >= x.At-4 && y.At <= x.At+4 {
				out.add("pair", mark{x.N, y.N, x.At})
			}
		}
	}
	for _, m := range ordered(9, 1) {
		out.add("short", mark{m.N, 1, 0})
	}
	for key, n := range sums(ordered(9, 1)) {
		out.add("kept", mark{n, key, 0})
	}
	return out.sorted()
}

// sessions counts the rows of the sessions of each key.
func sessions(rows []mark, gap int64) (out []weir.Windowed[int64, int64]) {
	times := map[int64][]int64{}
	for _, m := range rows {
		times[m.Key] = append(times[m.Key], m.At)
	}
	for key, at := range times {
		slices.Sort(at)
		for len(at) > 0 {
			n := 1
			for n < len(at) && at[n] < at[n-1]+gap {
				n++
			}
			out = append(out, weir.Windowed[int64, int64]{Key: key, Window: window.Window{Start: at[0] * 1000, End: (at[n-1] + gap) * 1000}, Value: int64(n)})
			at = at[n:]
		}
	}
	return out
}

// rightShared is what shared gives.
func rightShared() []string {
	var out lines
	rules, of := ordered(12, 1), int64(0)
	for _, r := range rules {
		of += r.At * r.At
	}
	for key, n := range sums(ordered(200, 1)) {
		out.add("ruled", mark{n, key, of*100 + 12})
	}
	for n := range int64(200) {
		out.add("shelf", mark{n, 1, 0})
		out.add("shelf", mark{n, 2, 0})
		out.add("aged", mark{n, 0, 0})
	}
	return out.sorted()
}

// exactly compares with what a loop has worked out.
func exactly(want func() []string) func(outcome) string {
	right := want()
	return func(o outcome) string { return differences(right, o.rows) }
}

// atLeastOnce compares the sets: nothing may be missing, and nothing may be there that is in no undisturbed run.
func atLeast(want func() []string) func(outcome) string {
	right := slices.Compact(want())
	return func(o outcome) string { return differences(right, slices.Compact(slices.Clone(o.rows))) }
}

// parse reads the rows of a kind back.
func parse(rows []string, what string) (out []mark) {
	for _, r := range rows {
		var m mark
		if n, _ := fmt.Sscanf(r, "\""+what+" {N:%d Key:%d At:%d}\"", &m.N, &m.Key, &m.At); n == 3 {
			out = append(out, m)
		}
	}
	return out
}

func parseWindows(rows []string) (out []weir.Windowed[int64, int64]) {
	for _, r := range rows {
		var w weir.Windowed[int64, int64]
		if n, _ := fmt.Sscanf(r, "\"window {Key:%d Window:{Start:%d End:%d} Value:%d}\"", &w.Key, &w.Window.Start, &w.Window.End, &w.Value); n == 4 {
			out = append(out, w)
		}
	}
	return out
}

// neverLess looks at again: each row is there, perhaps often, and no sum lacks anything.
func neverLess(o outcome) string {
	a := ordered(240, 1)
	for _, m := range parse(o.rows, "row") {
		if m.Key < 1 {
			return fmt.Sprintf("row %d was seen %d times", m.N, m.Key)
		}
		a = slices.DeleteFunc(a, func(x mark) bool { return x.N == m.N })
	}
	if len(a) > 0 {
		return fmt.Sprintf("%d rows are lost, such as %d", len(a), a[0].N)
	}
	want := sums(append(ordered(240, 1), ordered(60, 4)...))
	for _, m := range parse(o.rows, "sum") {
		if m.N < want[m.Key] || want[m.Key] == 0 {
			return fmt.Sprintf("the sum of key %d is %d, less than %d", m.Key, m.N, want[m.Key])
		}
		want[m.Key] = -1
	}
	for key, n := range want {
		if n > 0 {
			return fmt.Sprintf("the sum of key %d is lost", key)
		}
	}
	return ""
}

// asIfEnded looks at drains: what was read is in sums and windows as if there had been no more.
func asIfEnded(o outcome) string {
	read := map[int64]bool{}
	var rows []mark
	all := ordered(240, 1)
	for _, m := range parse(o.rows, "row") {
		if m.Key != 1 || read[m.N] {
			return fmt.Sprintf("row %d has come twice", m.N)
		}
		read[m.N] = true
		rows = append(rows, all[m.N])
	}
	if o.happened["drains"] == 0 && len(rows) < len(all) {
		return fmt.Sprintf("%d rows of %d", len(rows), len(all))
	}
	var want lines
	for _, m := range rows {
		want.add("row", mark{m.N, 1, 0})
	}
	for key, n := range sums(rows) {
		want.add("sum", mark{n, key, 0})
	}
	for w := range tumbling(rows, 20) {
		want.add("window", w)
	}
	return differences(want.sorted(), o.rows)
}

func bucketOf(n int64) string { return fmt.Sprint("bucket-", n%5) }

// inFiles looks at writesFiles: the files hold each row once, in its bucket, and nothing is left over.
func inFiles(o outcome) string {
	var want, got lines
	for n := range int64(240) {
		want.add("row", mark{n, 1, 0})
	}
	if wrong := differences(want.sorted(), o.rows); wrong != "" {
		return wrong
	}
	if wrong := readFiles(o.files, "out", &got); wrong != "" {
		return wrong
	}
	if wrong := differences(want, got.sorted()); wrong != "" {
		return "in the files: " + wrong
	}
	return ""
}

func readFiles(files *fs.Mem, dir string, got *lines) string {
	entries, err := files.ReadDir(dir)
	if err != nil {
		return err.Error()
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			if wrong := readFiles(files, name, got); wrong != "" {
				return wrong
			}
			continue
		}
		if strings.HasPrefix(e.Name(), ".") {
			continue // of an attempt that was cut off, or of a savepoint: no reader looks at it
		}
		f, err := files.Open(name)
		if err != nil {
			return err.Error()
		}
		for in := bufio.NewScanner(f); in.Scan(); {
			var m mark
			if err := json.Unmarshal(in.Bytes(), &m); err != nil || path.Base(dir) != bucketOf(m.N) {
				return fmt.Sprintf("%s holds %q", name, in.Text())
			}
			got.add("row", m)
		}
	}
	return ""
}

// inTimeOrLate looks at pauses: each row is in a window or late, those of the source that does not pause are in windows.
func inTimeOrLate(o outcome) string {
	want := map[int64]int64{} // rows of each key
	for _, m := range ordered(240, 1) {
		want[m.Key]++
	}
	for s := range int64(pausingSplits) {
		for i := range int64(pausingRows) {
			want[pausingRow(s, i).Key]++
		}
	}
	if over := parse(o.rows, "over"); len(over) > 0 {
		return fmt.Sprintf("row %d has come behind the end of time", over[0].N)
	}
	late := map[int64]bool{}
	for _, m := range parse(o.rows, "late") {
		if m.N < 1000 || late[m.N] {
			return fmt.Sprintf("row %d is late, or twice", m.N)
		}
		late[m.N] = true
		want[m.Key]--
	}
	windows := map[[2]int64]bool{}
	for _, w := range parseWindows(o.rows) {
		at := [2]int64{w.Key, w.Window.Start}
		if windows[at] {
			return fmt.Sprintf("a second window of key %d at %d", w.Key, w.Window.Start)
		}
		windows[at] = true
		want[w.Key] -= w.Value
	}
	for key, n := range want {
		if n != 0 {
			return fmt.Sprintf("%d rows of key %d too few, in windows and late", n, key)
		}
	}
	return ""
}
