package config

import "strings"

// Nearest returns the candidate that word is most likely a misspelling of, or "" when none is near: at most a third of
// the word's letters may differ (and at least one may). It compares without regard to case, and with "_" as "-". Of
// equally near candidates the first one wins. It serves error messages; nothing is ever corrected in silence.
func Nearest(word string, candidates []string) string {
	const lengthMax = 128 // a longer word is no misspelling, and the comparison costs the square of it
	w := fold(word)
	if len(w) > lengthMax {
		return ""
	}
	best, bestDistance := "", max(1, len(w)/3)+1
	for _, c := range candidates {
		if len(c) > lengthMax {
			continue
		}
		if d := distance(w, fold(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }

// distance is the number of letters to insert, delete, replace or swap with a neighbour to turn a into b.
func distance(a, b string) int {
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
