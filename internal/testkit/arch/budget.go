package arch

import (
	"fmt"
	"strconv"
	"strings"
)

// budget is budget.txt: the exceptions, and which of them were needed.
type budget struct {
	sizes map[budgetKey]int // lines, func, iface
	words map[budgetKey]bool
	used  map[budgetKey]bool
}

// budgetKey names an exception. word is empty where a size counts.
type budgetKey struct{ kind, place, word string }

func parseBudget(text string) (*budget, error) {
	b := &budget{sizes: map[budgetKey]int{}, words: map[budgetKey]bool{}, used: map[budgetKey]bool{}}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Fields(line)
		if len(parts) < 4 {
			return nil, fmt.Errorf("budget.txt:%d: want kind, place, size or word, reason", i+1)
		}
		switch kind := parts[0]; kind {
		case "lines", "func", "iface":
			n, err := strconv.Atoi(parts[2])
			if err != nil {
				return nil, fmt.Errorf("budget.txt:%d: %q is not a size", i+1, parts[2])
			}
			b.sizes[budgetKey{kind, parts[1], ""}] = n
		case "world", "pure", "api":
			b.words[budgetKey{kind, parts[1], parts[2]}] = true
		default:
			return nil, fmt.Errorf("budget.txt:%d: unknown kind %q", i+1, kind)
		}
	}
	return b, nil
}

// allows says whether place may have the given size, and notes that the exception was needed.
func (b *budget) allows(kind, place string, size int) bool {
	key := budgetKey{kind, place, ""}
	b.used[key] = true
	return size <= b.sizes[key]
}

// allowsWord is allows for exceptions that name a word.
func (b *budget) allowsWord(kind, place, word string) bool {
	key := budgetKey{kind, place, word}
	b.used[key] = true
	return b.words[key]
}

// stale lists the exceptions of a kind that nothing needed. Call it after the rule has run.
func (b *budget) stale(kind string) []string {
	var out []string
	for key := range b.sizes {
		if key.kind == kind && !b.used[key] {
			out = append(out, fmt.Sprintf("budget.txt: %s %s is no longer needed: delete the line", kind, key.place))
		}
	}
	for key := range b.words {
		if key.kind == kind && !b.used[key] {
			out = append(out, fmt.Sprintf("budget.txt: %s %s %s is no longer needed: delete the line", kind, key.place, key.word))
		}
	}
	return out
}
