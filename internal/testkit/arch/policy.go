package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// policy is policy.txt: who may import whom. Its names are packages without `internal/`, patterns ending in /*, and sets
// in capitals.
type policy struct {
	public    []string
	below     map[string][]string // direct: below[c] holds a and b of `a, b < c`
	order     []string            // names in the order of first mention
	negatives []negative
	third     map[string][]string // module -> who may import it
}

// negative is one `a !< b`: importer must not reach banned.
type negative struct{ banned, importer string }

// parsePolicy reads policy.txt. Statements end with a semicolon or, for `public:` and `third`, with the line.
func parsePolicy(text string) (*policy, error) {
	p := &policy{below: map[string][]string{}, third: map[string][]string{}}
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "public:"):
			p.public = names(strings.TrimPrefix(line, "public:"))
		case strings.HasPrefix(line, "third "):
			module, who, ok := strings.Cut(strings.TrimPrefix(line, "third "), ":")
			if !ok {
				return nil, fmt.Errorf("no colon in %q", line)
			}
			p.third[module] = names(who)
		default:
			for _, stmt := range strings.Split(line, ";") {
				if err := p.statement(strings.TrimSpace(stmt)); err != nil {
					return nil, err
				}
			}
		}
	}
	return p, p.acyclic()
}

func (p *policy) statement(stmt string) error {
	if stmt == "" {
		return nil
	}
	if banned, importers, ok := strings.Cut(stmt, "!<"); ok {
		for _, b := range names(banned) {
			for _, i := range names(importers) {
				p.negatives = append(p.negatives, negative{banned: b, importer: i})
			}
		}
		return nil
	}
	chain := strings.Split(stmt, "<")
	if len(chain) < 2 {
		return fmt.Errorf("neither < nor !< in %q", stmt)
	}
	for i := 1; i < len(chain); i++ {
		for _, above := range names(chain[i]) {
			for _, below := range names(chain[i-1]) {
				if below != "NONE" && p.below[below] == nil {
					return fmt.Errorf("%q is used in %q before it has a place of its own", below, stmt)
				}
				p.below[above] = append(p.below[above], below)
			}
			if !slices.Contains(p.order, above) {
				p.order = append(p.order, above)
			}
		}
	}
	return nil
}

func names(list string) []string {
	var out []string
	for _, n := range strings.Split(list, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

// acyclic fails if a name is below itself.
func (p *policy) acyclic() error {
	for _, n := range p.order {
		if p.reaches(n)[n] {
			return fmt.Errorf("%q is below itself", n)
		}
	}
	return nil
}

// reaches is the set of names that node may import.
func (p *policy) reaches(node string) map[string]bool {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(n string) {
		for _, b := range p.below[n] {
			if !seen[b] {
				seen[b] = true
				visit(b)
			}
		}
	}
	visit(node)
	return seen
}

// short is a folder as policy.txt names it: without `internal/`, the root as weir.
func short(dir string) string {
	if dir == "." {
		return "weir"
	}
	return strings.TrimPrefix(dir, "internal/")
}

// matches says whether a short name is covered by a name of the policy: itself, below it, or by its pattern.
func (p *policy) matches(name, of string) bool {
	if prefix, ok := strings.CutSuffix(of, "/*"); ok {
		return strings.HasPrefix(name, prefix+"/")
	}
	return name == of || strings.HasPrefix(name, of+"/")
}

// node finds the name of the policy that a package belongs to: the longest that covers it, a pattern before what it
// lies under; "" if there is none.
func (p *policy) node(dir string) string {
	name, best, bestLen := short(dir), "", -1
	for _, n := range p.order {
		length := 2 * len(strings.TrimSuffix(n, "/*"))
		if strings.HasSuffix(n, "/*") {
			length++
		}
		if strings.ToUpper(n) != n && p.matches(name, n) && length > bestLen {
			best, bestLen = n, length
		}
	}
	return best
}

// isPublic says whether users of the module may import the package of a folder.
func (p *policy) isPublic(dir string) bool {
	if strings.HasPrefix(dir, "internal/") {
		return false
	}
	return slices.ContainsFunc(p.public, func(n string) bool { return p.matches(short(dir), n) })
}

// free says whether the package of a folder stands outside of the order: programs and tests over the whole.
func free(dir string) bool {
	switch first, _, _ := strings.Cut(dir, "/"); first {
	case "examples", "bench", "test":
		return true
	}
	return dir == "internal/testkit" || strings.HasPrefix(dir, "internal/testkit/")
}

// mayImport says whether the order lets the package of one folder import another's.
func (p *policy) mayImport(from, to string) bool {
	a, b := p.node(from), p.node(to)
	if a != b {
		return p.reaches(a)[b]
	}
	// Siblings under a pattern are strangers (one connector does not import another); under a name they are a family.
	prefix, pattern := strings.CutSuffix(a, "/*")
	if !pattern {
		return true
	}
	first := func(dir string) string {
		head, _, _ := strings.Cut(strings.TrimPrefix(short(dir), prefix+"/"), "/")
		return path.Join(prefix, head)
	}
	return first(from) == first(to)
}

// covered lists the real names that a name of a negative stands for: a set's members, or the name itself.
func (p *policy) covered(name string) []string {
	if strings.ToUpper(name) == name {
		return p.below[name]
	}
	return []string{name}
}
