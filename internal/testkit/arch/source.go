package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	fileLinesMax = 800
	funcLinesMax = 70
	methodsMax   = 7
)

// worldly are the names of the standard library that read or change the world. A pattern is matched against
// package.Name.
var worldly = regexp.MustCompile(`^(` + strings.Join([]string{
	`time\.(Now|Since|Until|Sleep|After|AfterFunc|NewTimer|NewTicker|Tick)`,
	`os\.(Args|Stdin|Stdout|Stderr|Open.*|Create.*|Read.*|Write.*|Rename|Remove.*|Mkdir.*|Stat|Lstat|Getenv|LookupEnv|` +
		`Setenv|Unsetenv|Environ|Exit|Getpid|Getppid|Getwd|Chdir|Chmod|Chown|Chtimes|Executable|Expand.*|Hostname|Kill.*|` +
		`Start.*|Find.*|Link|Symlink|Truncate|TempDir|User.*|Pipe|DirFS|CopyFS|NewFile|Get.*)`,
	`exec\..*`,
	`signal\..*`,
	`net\.(Dial.*|Listen.*|Lookup.*|Resolve.*|Interface.*|File.*|DefaultResolver|Dialer|Resolver)`,
	`rand\.(Int.*|Uint.*|Float.*|N|Perm|Shuffle|NormFloat64|ExpFloat64|Seed|Read)`,
	`http\.(Get|Post.*|Head|DefaultClient|DefaultTransport|DefaultServeMux|Handle|HandleFunc|ListenAndServe.*)`,
	`filepath\.(Walk.*|Glob|Abs|EvalSymlinks)`,
}, "|") + `)$`)

// worldPackages are the standard packages that hold worldly names, by the name under which they are used.
var worldPackages = map[string]string{
	"time": "time", "os": "os", "os/exec": "exec", "os/signal": "signal", "net": "net",
	"math/rand": "rand", "math/rand/v2": "rand", "net/http": "http", "path/filepath": "filepath",
}

// worldFree says whether a folder may touch the world: its packages, the composition root, programs and tests.
func worldFree(dir string) bool {
	switch dir {
	case "internal/clock", "internal/fs", "internal/netx", "internal/xsync", "internal/proc", "internal/deploy":
		return true
	}
	return free(dir) || dir == "internal/app" || strings.HasPrefix(dir, "internal/app/") || strings.HasPrefix(dir, "cmd/")
}

// checkWorld looks for worldly names outside of the world's packages.
func checkWorld(m *module, b *budget) []string {
	var found []string
	for _, dir := range m.dirs() {
		if worldFree(dir) {
			continue
		}
		for _, f := range m.packages[dir].sources() {
			local := worldImports(f.ast)
			ast.Inspect(f.ast, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				id, ok := sel.X.(*ast.Ident)
				if !ok || local[id.Name] == "" {
					return true
				}
				word := local[id.Name] + "." + sel.Sel.Name
				if worldly.MatchString(word) && !b.allowsWord("world", f.name, word) {
					found = append(found, fmt.Sprintf("%s: %s: take a clock, file system, network or source of randomness as a value "+
						"(internal/clock, fs, netx)", m.at(sel.Pos()), word))
				}
				return true
			})
		}
	}
	return found
}

// worldImports maps the local names of worldly packages to their plain names.
func worldImports(f *ast.File) map[string]string {
	local := map[string]string{}
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		plain := worldPackages[name]
		switch {
		case err != nil || plain == "":
		case spec.Name != nil:
			local[spec.Name.Name] = plain
		default:
			local[plain] = plain
		}
	}
	return local
}

// pure are the packages without goroutine, channel, mutex, clock, I/O and chance.
var pure = []string{"internal/event", "internal/keygroup", "internal/watermark", "internal/graph", "internal/checkpoint", "internal/jobfsm"}

// impureImports are the standard packages that have no place in a pure one.
var impureImports = []string{"context", "sync", "os", "net", "net/http", "math/rand", "math/rand/v2", "crypto/rand", "log/slog", "log"}

// checkPure looks for goroutines, channels and impure imports in pure packages.
func checkPure(m *module, b *budget) []string {
	var found []string
	complain := func(f *file, pos token.Pos, word string) {
		if !b.allowsWord("pure", f.name, word) {
			found = append(found, fmt.Sprintf("%s: %s in a pure package: decide here, act in the driver", m.at(pos), word))
		}
	}
	for _, dir := range pure {
		p := m.packages[dir]
		if p == nil {
			continue
		}
		for _, f := range p.sources() {
			for _, spec := range f.ast.Imports {
				if name, _ := strconv.Unquote(spec.Path.Value); slices.Contains(impureImports, name) {
					complain(f, spec.Pos(), name)
				}
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					complain(f, n.Pos(), "go")
				case *ast.ChanType:
					complain(f, n.Pos(), "chan")
				case *ast.SelectStmt:
					complain(f, n.Pos(), "select")
				}
				return true
			})
		}
	}
	return found
}

// checkSizes holds files, functions and interfaces to their budgets.
func checkSizes(m *module, b *budget) []string {
	var found []string
	complain := func(kind, place string, size, limit int, unit string) {
		if size > limit && !b.allows(kind, place, size) {
			found = append(found, fmt.Sprintf("%s has %d %s, the limit is %d: split it, or enter `%s %s %d REASON` in budget.txt",
				place, size, unit, limit, kind, place, size))
		}
	}
	for _, dir := range m.dirs() {
		for _, f := range m.packages[dir].sources() {
			complain("lines", f.name, f.lines, fileLinesMax, "lines")
			for _, decl := range f.ast.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					lines := m.fset.Position(d.End()).Line - m.fset.Position(d.Pos()).Line + 1
					complain("func", f.name+":"+funcName(d), lines, funcLinesMax, "lines")
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						if ts, ok := spec.(*ast.TypeSpec); ok {
							if it, ok := ts.Type.(*ast.InterfaceType); ok {
								complain("iface", f.name+":"+ts.Name.Name, it.Methods.NumFields(), methodsMax, "methods")
							}
						}
					}
				}
			}
		}
	}
	return found
}

// funcName is a function's name, a method's with its receiver's type.
func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	return receiver(d.Recv.List[0].Type) + "." + d.Name.Name
}

// receiver is the name of a receiver's type without pointer and type parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.ParenExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// emptyNames say nothing about what is in a package or file.
var emptyNames = regexp.MustCompile(`^(util|utils|common|helper|helpers|misc|shared|base|lib|stuff|impl|manager)$`)

// checkNames looks for packages and files named by nothing.
func checkNames(m *module) []string {
	var found []string
	for _, dir := range m.dirs() {
		if emptyNames.MatchString(path.Base(dir)) {
			found = append(found, fmt.Sprintf("%s: name the package after what it provides", dir))
		}
		for _, f := range m.packages[dir].files {
			stem := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.name), ".go"), "_test")
			if emptyNames.MatchString(stem) {
				found = append(found, fmt.Sprintf("%s: name the file after what is in it", f.name))
			}
		}
	}
	return found
}

// checkDocs wants a doc.go in each package (a program may say it in main.go) that names no file which is gone, and a comment
// on each exported name.
func checkDocs(m *module) []string {
	var found []string
	for _, dir := range m.dirs() {
		sources := m.packages[dir].sources()
		if len(sources) == 0 {
			continue
		}
		documented := false
		for _, f := range sources {
			base := path.Base(f.name)
			documented = documented || f.ast.Doc != nil && (base == "doc.go" || base == "main.go" && f.ast.Name.Name == "main")
			found = append(found, undocumented(m, f)...)
			if f.ast.Doc != nil {
				found = append(found, goneFiles(m, m.packages[dir], f)...)
			}
		}
		if !documented {
			found = append(found, fmt.Sprintf("%s: no doc.go with a package comment: purpose, invariants, lock order", dir))
		}
	}
	return found
}

var goFile = regexp.MustCompile(`(^|[\s(,"])([a-z0-9_]+\.go)\b`)

// goneFiles lists the files that the package comment in f names although they are not beside it.
func goneFiles(m *module, p *pkg, f *file) (found []string) {
	for _, match := range goFile.FindAllStringSubmatch(f.ast.Doc.Text(), -1) {
		name := path.Join(path.Dir(f.name), match[2])
		if !slices.ContainsFunc(p.files, func(f *file) bool { return f.name == name }) {
			found = append(found, fmt.Sprintf("%s: the package comment names %s, which is not there", m.at(f.ast.Doc.Pos()), match[2]))
		}
	}
	return found
}

// undocumented lists the exported names of a file that have no comment.
func undocumented(m *module, f *file) []string {
	var found []string
	complain := func(pos token.Pos, name string) {
		found = append(found, fmt.Sprintf("%s: %s is exported and has no comment", m.at(pos), name))
	}
	for _, decl := range f.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			typ, isMethod := strings.CutSuffix(funcName(d), "."+d.Name.Name)
			if d.Name.IsExported() && d.Doc == nil && (!isMethod || ast.IsExported(typ)) {
				complain(d.Pos(), funcName(d))
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
						complain(s.Pos(), s.Name.Name)
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
							complain(n.Pos(), n.Name)
						}
					}
				}
			}
		}
	}
	return found
}
