package weirtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Equal fails the test unless got has the rows of want in the same order. Rows are compared by their contents: pointers are
// followed, and two times are equal that are the same instant.
func Equal[T any](t testing.TB, got, want []T) {
	t.Helper()
	if d := diffInOrder(renderAll(want), renderAll(got)); d != "" {
		t.Errorf("rows differ from what is wanted:\n%s", d)
	}
}

// Same is Equal without regard to the order of rows.
func Same[T any](t testing.TB, got, want []T) {
	t.Helper()
	if d := diffInBag(renderAll(want), renderAll(got)); d != "" {
		t.Errorf("rows differ from what is wanted, in any order:\n%s", d)
	}
}

// shown bounds the lines of a difference.
const shown = 10

// diffInBag returns the rows that one side has more often than the other, "" if there are none.
func diffInBag(want, got []string) string {
	count := map[string]int{}
	for _, w := range want {
		count[w]--
	}
	for _, g := range got {
		count[g]++
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n == 0 })
	if len(count) == 0 {
		return ""
	}
	var lines []string
	for _, row := range slices.Sorted(maps.Keys(count)) {
		n := count[row]
		sign, times := "+", ""
		if n < 0 {
			sign, n = "-", -n
		}
		if n > 1 {
			times = fmt.Sprintf("   (%d times)", n)
		}
		lines = append(lines, sign+" "+row+times)
	}
	return cut(lines) + fmt.Sprintf("(- missing, + too many; %d rows, wanted %d)", len(got), len(want))
}

// diffInOrder returns where the two begin to differ.
func diffInOrder(want, got []string) string {
	if slices.Equal(want, got) {
		return ""
	}
	if d := diffInBag(want, got); d != "" {
		return d
	}
	i := 0
	for want[i] == got[i] {
		i++
	}
	return fmt.Sprintf("the same rows in another order, from row %d on:\n- %s\n+ %s", i, want[i], got[i])
}

func cut(lines []string) string {
	if more := len(lines) - shown; more > 0 {
		lines = append(lines[:shown:shown], fmt.Sprintf("... and %d more", more))
	}
	return strings.Join(lines, "\n") + "\n"
}
