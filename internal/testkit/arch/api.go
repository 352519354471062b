package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

// checkAPI walks the exported names of public packages and reports each mention of an internal type. The types come
// from the compiler's export data, which the build cache of this very test run holds already.
func checkAPI(m *module, p *policy, b *budget) ([]string, error) {
	var public []string
	for _, dir := range m.dirs() {
		if p.isPublic(dir) && len(m.packages[dir].sources()) > 0 {
			public = append(public, dir)
		}
	}
	if len(public) == 0 {
		return nil, nil
	}
	exports, err := m.exportData(public)
	if err != nil {
		return nil, err
	}
	imp := importer.ForCompiler(m.fset, "gc", func(path string) (io.ReadCloser, error) {
		name, ok := exports[path]
		if !ok {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(name)
	})
	var found []string
	for _, dir := range public {
		tp, err := imp.Import(m.importPath(dir))
		if err != nil {
			return nil, err
		}
		w := &apiWalk{module: m, pkg: tp, seen: map[types.Type]bool{}}
		for _, name := range tp.Scope().Names() {
			obj := tp.Scope().Lookup(name)
			if !obj.Exported() {
				continue
			}
			w.path = name
			w.object(obj)
		}
		for _, mention := range w.found {
			if !b.allowsWord("api", short(dir)+":"+mention.name, mention.typ) {
				found = append(found, fmt.Sprintf("%s: %s mentions %s: users cannot name it", short(dir), mention.name, mention.typ))
			}
		}
	}
	return found, nil
}

func (m *module) importPath(dir string) string {
	if dir == "." {
		return m.path
	}
	return m.path + "/" + dir
}

// exportData asks the go command for the compiled form of packages and of all they import.
func (m *module) exportData(dirs []string) (map[string]string, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Error"}
	for _, dir := range dirs {
		args = append(args, m.importPath(dir))
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = m.root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return exports, nil
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
	}
}

// apiWalk follows what a user of one package can reach.
type apiWalk struct {
	module *module
	pkg    *types.Package
	path   string // the exported name that is being followed
	seen   map[types.Type]bool
	found  []mention
}

// mention is an exported name and the internal type behind it.
type mention struct{ name, typ string }

func (w *apiWalk) object(obj types.Object) {
	if tn, ok := obj.(*types.TypeName); ok {
		if alias, ok := tn.Type().(*types.Alias); ok {
			w.typ(alias.Rhs())
			return
		}
	}
	w.typ(obj.Type())
}

// typ follows a type as far as it belongs to the package.
func (w *apiWalk) typ(t types.Type) {
	if t == nil || w.seen[t] {
		return
	}
	switch t := t.(type) {
	case *types.Alias:
		w.name(t.Obj(), t.TypeArgs())
		if t.Obj().Pkg() == w.pkg {
			w.typ(t.Rhs())
		}
	case *types.Named:
		w.name(t.Obj(), t.TypeArgs())
		if t.Obj().Pkg() == w.pkg {
			w.named(t.Origin())
		}
	case *types.Pointer:
		w.typ(t.Elem())
	case *types.Slice:
		w.typ(t.Elem())
	case *types.Array:
		w.typ(t.Elem())
	case *types.Chan:
		w.typ(t.Elem())
	case *types.Map:
		w.typ(t.Key())
		w.typ(t.Elem())
	case *types.Signature:
		w.typeParams(t.TypeParams())
		w.typ(t.Params())
		w.typ(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			w.typ(v.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.typ(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				w.typ(m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			w.typ(e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.typ(term.Type())
		}
	}
}

// named follows a type of the package itself: what it is made of and its exported methods.
func (w *apiWalk) named(t *types.Named) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	outer := w.path
	if t.Obj().Exported() {
		w.path = t.Obj().Name()
	}
	w.typeParams(t.TypeParams())
	w.typ(t.Underlying())
	base := w.path
	for m := range t.Methods() {
		if m.Exported() {
			w.path = base + "." + m.Name()
			w.typ(m.Type())
		}
	}
	w.path = outer
}

func (w *apiWalk) typeParams(list *types.TypeParamList) {
	for p := range list.TypeParams() {
		w.typ(p.Constraint())
	}
}

// name notes a mention of an internal type, and follows the type arguments.
func (w *apiWalk) name(obj *types.TypeName, args *types.TypeList) {
	if p := obj.Pkg(); p != nil && strings.HasPrefix(p.Path(), w.module.path+"/internal/") {
		w.found = append(w.found, mention{w.path, strings.TrimPrefix(p.Path(), w.module.path+"/") + "." + obj.Name()})
	}
	for a := range args.Types() {
		w.typ(a)
	}
}
