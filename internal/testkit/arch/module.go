package arch

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// module is the parsed source of the whole module.
type module struct {
	root     string // its folder
	path     string // its import path
	fset     *token.FileSet
	packages map[string]*pkg // by folder relative to root, "." for the root
}

// pkg is the source of one folder.
type pkg struct {
	dir   string
	files []*file
}

// file is one parsed file. name is relative to the module's root.
type file struct {
	name      string
	test      bool // a _test.go file
	generated bool
	lines     int
	ast       *ast.File
}

// loadModule parses the module that the working directory lies in. Nested modules, testdata and hidden folders are
// left out.
func loadModule() (*module, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for !exists(filepath.Join(root, "go.mod")) {
		up := filepath.Dir(root)
		if up == root {
			return nil, fmt.Errorf("no go.mod above the working directory")
		}
		root = up
	}
	m := &module{root: root, fset: token.NewFileSet(), packages: map[string]*pkg{}}
	if m.path, err = modulePath(filepath.Join(root, "go.mod")); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return m.enter(name, d.Name())
		case strings.HasSuffix(name, ".go"):
			return m.parse(name)
		}
		return nil
	})
	return m, err
}

// enter says whether a folder belongs to the module's source.
func (m *module) enter(name, base string) error {
	if name == m.root {
		return nil
	}
	if base == "testdata" || base == "vendor" || base == "node_modules" || strings.HasPrefix(base, ".") ||
		strings.HasPrefix(base, "_") || exists(filepath.Join(name, "go.mod")) {
		return filepath.SkipDir
	}
	return nil
}

func (m *module) parse(name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(m.root, name)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	tree, err := parser.ParseFile(m.fset, rel, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := &file{
		name:      rel,
		test:      strings.HasSuffix(rel, "_test.go"),
		generated: ast.IsGenerated(tree),
		lines:     strings.Count(string(src), "\n"),
		ast:       tree,
	}
	dir := path.Dir(rel)
	if m.packages[dir] == nil {
		m.packages[dir] = &pkg{dir: dir}
	}
	m.packages[dir].files = append(m.packages[dir].files, f)
	return nil
}

// dirs lists the folders of the packages, sorted.
func (m *module) dirs() []string {
	var dirs []string
	for dir := range m.packages {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs
}

// sources are the files that are neither tests nor generated.
func (p *pkg) sources() []*file {
	var out []*file
	for _, f := range p.files {
		if !f.test && !f.generated {
			out = append(out, f)
		}
	}
	return out
}

// imports lists what the non-test files of p import, each path once with the place of the first import.
func (p *pkg) imports() map[string]token.Pos {
	out := map[string]token.Pos{}
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if _, seen := out[name]; err == nil && !seen {
				out[name] = spec.Pos()
			}
		}
	}
	return out
}

// at prints a place as file:line.
func (m *module) at(pos token.Pos) string {
	p := m.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func modulePath(gomod string) (string, error) {
	f, err := os.Open(gomod)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, ok := strings.CutPrefix(s.Text(), "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", fmt.Errorf("%s has no module line", gomod)
}
