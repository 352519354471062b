package arch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// within cuts the module's path off an import path; false for others' packages.
func (m *module) within(importPath string) (dir string, ok bool) {
	if importPath == m.path {
		return ".", true
	}
	return strings.CutPrefix(importPath, m.path+"/")
}

// checkOrder compares each import within the module with the order.
func checkOrder(m *module, p *policy) []string {
	var found []string
	for _, dir := range m.dirs() {
		if free(dir) || len(m.packages[dir].sources()) == 0 {
			continue
		}
		if p.node(dir) == "" {
			found = append(found, fmt.Sprintf("%s: the package has no place in policy.txt: give it one", dir))
			continue
		}
		for name, pos := range m.packages[dir].imports() {
			to, ok := m.within(name)
			switch {
			case !ok:
			case strings.HasPrefix(to, "internal/testkit"):
				found = append(found, fmt.Sprintf("%s: %s imports %s: testkit is for test files only", m.at(pos), dir, to))
			case !p.mayImport(dir, to):
				found = append(found, fmt.Sprintf("%s: %s must not import %s: policy.txt does not put %q below %q",
					m.at(pos), dir, to, p.node(to), p.node(dir)))
			}
		}
	}
	return found
}

// checkNegatives looks for each standing negative along all chains of imports. `internal/*` counts direct imports only:
// what a public package uses inside is its own affair, what a connector may name is not.
func checkNegatives(m *module, p *policy) []string {
	var found []string
	for _, n := range p.negatives {
		for _, dir := range m.dirs() {
			if free(dir) || strings.ToUpper(n.importer) == n.importer || !p.negativeCovers(n.importer, dir) {
				continue
			}
			if chain := m.chainTo(dir, n.banned != "internal/*", func(to string) bool {
				return p.bans(n.banned, to) && !p.negativeCovers(n.importer, to)
			}); chain != nil {
				found = append(found, fmt.Sprintf("%s must not depend on %s, but does: %s", dir, n.banned, strings.Join(chain, " -> ")))
			}
		}
	}
	return found
}

// negativeCovers says whether a package of the module is meant by the importer's name. A name without a pattern does not
// mean the leaves that a pattern of its own covers: `connector` is the contract, `connector/*` are the connectors.
func (p *policy) negativeCovers(name, dir string) bool {
	if !p.matches(short(dir), name) {
		return false
	}
	return strings.HasSuffix(name, "/*") || p.below[name+"/*"] == nil || short(dir) == name
}

func (p *policy) bans(banned, dir string) bool {
	if banned == "internal/*" {
		return strings.HasPrefix(dir, "internal/")
	}
	return slices.ContainsFunc(p.covered(banned), func(n string) bool {
		return p.matches(short(dir), n)
	})
}

// chainTo finds a chain of imports from dir to a package that banned accepts, the shortest first; nil if there is none.
func (m *module) chainTo(dir string, deep bool, banned func(string) bool) []string {
	queue, seen := [][]string{{dir}}, map[string]bool{dir: true}
	for len(queue) > 0 {
		chain := queue[0]
		queue = queue[1:]
		from := m.packages[chain[len(chain)-1]]
		if from == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(from.imports())) {
			to, ok := m.within(name)
			if !ok || seen[to] {
				continue
			}
			seen[to] = true
			next := append(slices.Clone(chain), to)
			if banned(to) {
				return next
			}
			if deep {
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// checkThird confines packages of other modules.
func checkThird(m *module, p *policy) []string {
	var found []string
	for _, dir := range m.dirs() {
		if free(dir) {
			continue
		}
		for name, pos := range m.packages[dir].imports() {
			first, _, _ := strings.Cut(name, "/")
			if _, own := m.within(name); own || !strings.Contains(first, ".") {
				continue
			}
			if !p.allowsThird(name, dir) {
				found = append(found, fmt.Sprintf("%s: %s must not import %s: see the lines `third` of policy.txt", m.at(pos), dir, name))
			}
		}
	}
	return found
}

func (p *policy) allowsThird(name, dir string) bool {
	for module, who := range p.third {
		if name == module || strings.HasPrefix(name, module+"/") {
			return slices.ContainsFunc(who, func(w string) bool { return p.matches(short(dir), w) })
		}
	}
	return false
}
