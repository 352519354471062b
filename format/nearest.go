package format

import (
	"slices"
	"strings"
)

// Nearest returns the names that resemble name most, the nearest first, at most three.
func Nearest(name string, names []string) []string {
	type scored struct {
		name string
		d    int
	}
	var near []scored
	for _, n := range names {
		d := distance(strings.ToLower(name), strings.ToLower(n))
		if d <= 1+max(len(name), len(n))/3 {
			near = append(near, scored{n, d})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return a.d - b.d })
	var out []string
	for _, s := range near[:min(3, len(near))] {
		out = append(out, s.name)
	}
	return out
}

// DidYouMean returns "; did you mean X, Y?", or "" if nothing resembles name.
func DidYouMean(name string, names []string) string {
	near := Nearest(name, names)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, ", ") + "?"
}

// distance is Levenshtein's, with names cut to a length that keeps it cheap.
func distance(a, b string) int {
	a, b = a[:min(len(a), 200)], b[:min(len(b), 200)]
	row := make([]int, len(b)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for k := range len(b) {
			cost := diagonal
			if a[i] != b[k] {
				cost++
			}
			diagonal = row[k+1]
			row[k+1] = min(cost, row[k]+1, row[k+1]+1)
		}
	}
	return row[len(b)]
}
