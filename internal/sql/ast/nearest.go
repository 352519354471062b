package ast

// Nearest returns the candidate that a misspelt word was most likely meant to be, "" if none is near: one letter more,
// less, other or exchanged in short words, two in longer ones. Of several the first wins. It compares byte by byte, so
// keywords should be given in upper case.
func Nearest(word string, candidates []string) string {
	limit := 2
	if len(word) <= 4 {
		limit = 1
	}
	best, bestDist := "", limit+1
	for _, c := range candidates {
		if len(c) < 2 || len(word) < 2 || c == word || abs(len(c)-len(word)) > limit {
			continue
		}
		if d := distance(word, c, bestDist); d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// nearestMax is the length up to which words are compared.
const nearestMax = 64

// distance returns how many letters have to be put in, taken out, changed or exchanged with their neighbour to make b of
// a, or some number of at least limit if it is that many.
func distance(a, b string, limit int) int {
	if len(a) > nearestMax || len(b) > nearestMax {
		return limit
	}
	var rows [3][nearestMax + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, last, before := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if least >= limit {
			return limit
		}
	}
	return rows[len(a)%3][len(b)]
}
