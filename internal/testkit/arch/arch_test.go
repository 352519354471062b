package arch

import (
	"os"
	"sort"
	"strings"
	"sync"
	"testing"
)

// world loads module, policy and budget once for all tests.
var load = sync.OnceValues(func() (*state, error) {
	m, err := loadModule()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile("policy.txt")
	if err != nil {
		return nil, err
	}
	p, err := parsePolicy(string(text))
	if err != nil {
		return nil, err
	}
	list, err := os.ReadFile("budget.txt")
	if err != nil {
		return nil, err
	}
	b, err := parseBudget(string(list))
	return &state{module: m, policy: p, budget: b}, err
})

type state struct {
	module *module
	policy *policy
	budget *budget
}

func mustLoad(t *testing.T) *state {
	t.Helper()
	s, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// report fails the test with what a rule found, sorted.
func report(t *testing.T, found []string) {
	t.Helper()
	sort.Strings(found)
	for _, f := range found {
		t.Error(f)
	}
}

func TestImportsFollowTheOrder(t *testing.T) {
	s := mustLoad(t)
	report(t, checkOrder(s.module, s.policy))
}

func TestStandingNegatives(t *testing.T) {
	s := mustLoad(t)
	report(t, checkNegatives(s.module, s.policy))
}

func TestThirdPartiesStayInTheirPlaces(t *testing.T) {
	s := mustLoad(t)
	report(t, checkThird(s.module, s.policy))
}

func TestPublicNamesMentionNoInternalType(t *testing.T) {
	s := mustLoad(t)
	found, err := checkAPI(s.module, s.policy, s.budget)
	if err != nil {
		t.Fatal(err)
	}
	report(t, found)
	report(t, s.budget.stale("api"))
}

func TestWorldIsTouchedInItsPackagesOnly(t *testing.T) {
	s := mustLoad(t)
	report(t, checkWorld(s.module, s.budget))
	report(t, s.budget.stale("world"))
}

func TestPurePackagesArePure(t *testing.T) {
	s := mustLoad(t)
	report(t, checkPure(s.module, s.budget))
	report(t, s.budget.stale("pure"))
}

func TestDocumentation(t *testing.T) {
	report(t, checkDocs(mustLoad(t).module))
}

func TestNamesSaySomething(t *testing.T) {
	report(t, checkNames(mustLoad(t).module))
}

func TestSizes(t *testing.T) {
	s := mustLoad(t)
	report(t, checkSizes(s.module, s.budget))
	for _, kind := range []string{"lines", "func", "iface"} {
		report(t, s.budget.stale(kind))
	}
}

const toyPolicy = `
public: weir, connector
NONE < leaf, other;
leaf < L;
L < clock;
clock < W;
L < connector, graph < connector/*;
graph, connector/* < weir;
W !< graph;
third example.com/x: connector/*
`

func TestPolicyText(t *testing.T) {
	p, err := parsePolicy(toyPolicy)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		from, to string
		want     bool
	}{
		{"through a set", "internal/clock", "internal/leaf", true},
		{"not upward", "internal/leaf", "internal/clock", false},
		{"not beside", "internal/leaf", "internal/other", false},
		{"through others", ".", "internal/leaf/deep", true},
		{"within a family", "internal/graph/a", "internal/graph/b", true},
		{"one connector not another", "connector/file", "connector/kafka", false},
		{"a connector its own inside", "connector/file", "connector/file/scan", true},
		{"a connector the contract", "connector/file", "connector", true},
		{"the contract no connector", "connector", "connector/file", false},
	} {
		if got := p.mayImport(c.from, c.to); got != c.want {
			t.Errorf("%s: mayImport(%s, %s) = %v", c.name, c.from, c.to, got)
		}
	}
	if !p.isPublic("connector/file") || !p.isPublic(".") || p.isPublic("internal/connector") || p.isPublic("cmd/weir") {
		t.Error("public: weir and connector with what is below, nothing else")
	}
	if got := p.node("internal/nobody"); got != "" {
		t.Errorf("an unknown package belongs to %q", got)
	}
	for _, bad := range []string{"a < b;", "NONE < a; a < a;", "just words;", "third x"} {
		if _, err := parsePolicy(bad); err == nil {
			t.Errorf("%q was taken for a policy", bad)
		}
	}
}

func TestBudgetText(t *testing.T) {
	b, err := parseBudget("# comment\nfunc a.go:F 90 a big switch\nworld a.go os.Args it is main\n")
	if err != nil {
		t.Fatal(err)
	}
	if !b.allows("func", "a.go:F", 90) || b.allows("func", "a.go:F", 91) || b.allows("func", "a.go:G", 71) {
		t.Error("a budget allows its place up to its size")
	}
	if got := b.stale("world"); len(got) != 1 || !strings.Contains(got[0], "a.go os.Args") {
		t.Errorf("stale = %q", got)
	}
	for _, bad := range []string{"func a.go:F 90", "func a.go:F many reason", "odd a.go x y"} {
		if _, err := parseBudget(bad); err == nil {
			t.Errorf("%q was taken for a budget", bad)
		}
	}
}
