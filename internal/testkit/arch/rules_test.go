package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// toyModule is a module of the given files, name -> source.
func toyModule(t *testing.T, files map[string]string) *module {
	t.Helper()
	m := &module{path: "example.com/m", fset: token.NewFileSet(), packages: map[string]*pkg{}}
	for name, src := range files {
		tree, err := parser.ParseFile(m.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir := "."
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			dir = name[:i]
		}
		if m.packages[dir] == nil {
			m.packages[dir] = &pkg{dir: dir}
		}
		m.packages[dir].files = append(m.packages[dir].files,
			&file{name: name, test: strings.HasSuffix(name, "_test.go"), lines: strings.Count(src, "\n"), ast: tree})
	}
	return m
}

func mustPolicy(t *testing.T, text string) *policy {
	t.Helper()
	p, err := parsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantFound checks that found has one complaint for each of the given fragments, in any order, and no other.
func wantFound(t *testing.T, found []string, fragments ...string) {
	t.Helper()
	slices.Sort(found)
	for _, fragment := range fragments {
		i := slices.IndexFunc(found, func(f string) bool { return strings.Contains(f, fragment) })
		if i < 0 {
			t.Errorf("nothing found about %q", fragment)
			continue
		}
		found = slices.Delete(found, i, i+1)
	}
	for _, f := range found {
		t.Errorf("found beside: %s", f)
	}
}

// Each rule must bite: a module that breaks all of them, a complaint for each.
func TestRulesBite(t *testing.T) {
	m := toyModule(t, map[string]string{
		"internal/leaf/leaf.go":   "package leaf\nimport _ \"example.com/m/internal/clock\"\n",
		"internal/clock/doc.go":   "// Package clock. See doc.go, and gone.go.\npackage clock\nimport \"time\"\nvar _ = time.Now\n",
		"internal/util/doc.go":    "// Package util.\npackage util\n",
		"internal/graph/graph.go": "package graph\nimport (\n\"sync\"\nc \"time\"\n_ \"example.com/m/internal/mid\"\n)\nvar X sync.Mutex\nfunc f() { go f(); _ = c.Now() }\n",
		"internal/mid/doc.go":     "// Package mid.\npackage mid\nimport (\n_ \"example.com/m/internal/clock\"\n_ \"example.com/x/y\"\n_ \"example.org/z\"\n)\n",
		"connector/file/doc.go":   "// Package file.\npackage file\nimport (\n_ \"example.com/m/internal/leaf\"\n_ \"example.com/x/y\"\n)\n",
		"connector/file/a_test.go": "package file\nimport (\n\"os\"\n_ \"example.com/m/internal/clock\"\n)\n" +
			"func g() { os.Exit(1) }\n",
	})
	p := mustPolicy(t, `
NONE < leaf < clock < mid;
mid < graph;
leaf < connector < connector/*;
clock < W;
W !< graph;
internal/* !< connector/*;
third example.com/x: connector/*
`)
	b, err := parseBudget("")
	if err != nil {
		t.Fatal(err)
	}
	wantFound(t, checkOrder(m, p), "internal/leaf must not import internal/clock", "internal/util: the package has no place")
	wantFound(t, checkNegatives(m, p),
		"internal/graph must not depend on W, but does: internal/graph -> internal/mid -> internal/clock",
		"connector/file must not depend on internal/*, but does: connector/file -> internal/leaf")
	wantFound(t, checkThird(m, p), "internal/mid must not import example.com/x/y", "internal/mid must not import example.org/z")
	wantFound(t, checkWorld(m, b), "graph.go:8: time.Now")
	wantFound(t, checkPure(m, b), "graph.go:3: sync", "graph.go:8: go in")
	wantFound(t, checkNames(m), "internal/util: name the package")
	wantFound(t, checkDocs(m), "internal/leaf: no doc.go", "internal/graph: no doc.go", "graph.go:7: X is exported",
		"clock/doc.go:1: the package comment names gone.go")
}

func TestSizesBite(t *testing.T) {
	body := strings.Repeat("\tx()\n", 69)
	m := toyModule(t, map[string]string{
		"a.go": "package a\nfunc (t *T[K]) Big() {\n" + body + "}\nfunc fits() {\n" + body[5:] + "}\n" +
			"type I interface {\n A(); B(); C(); D(); E(); F(); G(); H()\n}\n",
		"b.go":      "package a\n" + strings.Repeat("\n", 800),
		"a_test.go": "package a\nfunc TestX() {\n" + body + body + "}\n",
	})
	b, err := parseBudget("func a.go:fits 70 not needed\n")
	if err != nil {
		t.Fatal(err)
	}
	wantFound(t, checkSizes(m, b), "a.go:T.Big has 71 lines", "a.go:I has 8 methods", "b.go has 801 lines")
	wantFound(t, b.stale("func"), "a.go:fits is no longer needed")
}

// toyImporter hands out one package.
type toyImporter struct{ p *types.Package }

func (i toyImporter) Import(string) (*types.Package, error) { return i.p, nil }

func TestAPIWalkFindsEachWay(t *testing.T) {
	fset := token.NewFileSet()
	check := func(path, src string, imp types.Importer) *types.Package {
		tree, err := parser.ParseFile(fset, path+".go", src, 0)
		if err != nil {
			t.Fatal(err)
		}
		p, err := (&types.Config{Importer: imp}).Check(path, fset, []*ast.File{tree}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	inner := check("example.com/m/internal/in", "package in; type T struct{}; type C interface{ M() }; type G[X any] struct{}", nil)
	outer := check("example.com/m/out", `package out
import "example.com/m/internal/in"
type Fine struct { hidden in.T; N int }
func (f Fine) private(in.T) {}
func private(in.T) {}
type own struct{}
func (own) Reached() in.T { return in.T{} }
type Embeds struct { in.T }
type Alias = in.T
var Variable map[string][]*in.T
func Param(func(chan in.T)) {}
func Constraint[X in.C]() {}
func Through() own { return own{} }
type Iface interface { Method() in.T; hidden(in.T) }
func (f *Fine) Generic() in.G[int] { return in.G[int]{} }
func Arg() Box[in.T] { return Box[in.T]{} }
type Box[X any] struct { V X }
`, toyImporter{inner})
	var got []string
	for _, name := range outer.Scope().Names() {
		if obj := outer.Scope().Lookup(name); obj.Exported() {
			w := &apiWalk{module: &module{path: "example.com/m"}, pkg: outer, seen: map[types.Type]bool{}, path: name}
			w.object(obj)
			for _, f := range w.found {
				got = append(got, f.name+" "+f.typ)
			}
		}
	}
	want := []string{"Alias internal/in.T", "Arg internal/in.T", "Constraint internal/in.C", "Embeds internal/in.T",
		"Fine.Generic internal/in.G", "Iface internal/in.T", "Param internal/in.T", "Through.Reached internal/in.T",
		"Variable internal/in.T"}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
