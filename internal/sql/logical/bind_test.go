package logical_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/catalog"
	"github.com/weir-stream/weir/internal/sql/logical"
	"github.com/weir-stream/weir/internal/sql/parser"
)

// session runs statements far enough to know their columns.
func session(t *testing.T, scripts ...string) ([]logical.Node, []error) {
	t.Helper()
	b := &logical.Binder{Catalogs: catalog.New()}
	var nodes []logical.Node
	var errs []error
	for _, script := range scripts {
		for _, p := range parser.ParseScript(script) {
			if p.Err != nil {
				t.Fatal(p.Err)
			}
			var err error
			switch s := p.Statement.(type) {
			case *ast.CreateTable:
				path, _ := b.Catalogs.Qualify(s.Name.Strings())
				var table *catalog.Table
				if table, err = logical.TableOf(s, path); err == nil {
					err = b.Catalogs.Put(path, table, false, false)
				}
			case *ast.CreateView:
				path, _ := b.Catalogs.Qualify(s.Name.Strings())
				cat, db := b.Catalogs.Current()
				err = b.Catalogs.Put(path, &catalog.View{Path: path, Query: s.Query, Catalog: cat, Database: db}, false, false)
			case *ast.QueryStatement:
				var n logical.Node
				if n, err = b.Query(s.Query); err == nil {
					nodes = append(nodes, n)
				}
			case *ast.Insert:
				var n logical.Node
				if n, err = b.Query(s.Query); err == nil {
					nodes = append(nodes, n)
				}
			}
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	return nodes, errs
}

// Queries of the benchmark that lack a function, by the name that is missed.
var missed = map[string]string{"q10": "DATE_FORMAT", "q11": "SESSION", "q12": "PROCTIME", "q13": "PROCTIME", "q14": "HOUR", "q15": "DATE_FORMAT",
	"q16": "DATE_FORMAT", "q17": "DATE_FORMAT", "q18": "ROW_NUMBER", "q19": "ROW_NUMBER", "q2": "MOD", "q21": "REGEXP_EXTRACT", "q22": "SPLIT_INDEX",
	"q6": "ROW_NUMBER", "q9": "ROW_NUMBER"}

// All queries of the benchmark can be bound, but for functions that there are not yet.
func TestNexmark(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "bench", "nexmark", "queries")
	ddl, err := os.ReadFile(filepath.Join(dir, "ddl.sql"))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "q*.sql"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		fill := func(s []byte) string {
			r := string(s)
			for _, name := range []string{"SOURCE", "SINK", "FILE_SINK", "SIDE"} {
				r = strings.ReplaceAll(r, "${"+name+"}", "'connector' = 'x'")
			}
			return r
		}
		nodes, errs := session(t, fill(ddl), fill(text))
		name := missed[strings.TrimSuffix(filepath.Base(f), ".sql")]
		for _, err := range errs {
			if name == "" || !strings.Contains(err.Error(), "no function "+name) {
				t.Errorf("%s: %v", filepath.Base(f), err)
			}
		}
		if len(nodes) != 1 && len(errs) == 0 || name != "" && len(errs) == 0 {
			t.Errorf("%s: %d queries", filepath.Base(f), len(nodes))
		}
	}
}
