package logical_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/weir-stream/weir/bench/nexmark"
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
	for n := range nexmark.Queries {
		query := "q" + strconv.Itoa(n)
		nodes, errs := session(t, nexmark.DDL("'connector' = 'x'"), nexmark.Query(n, "'connector' = 'x'"))
		name := missed[query]
		for _, err := range errs {
			if name == "" || !strings.Contains(err.Error(), "no function "+name) {
				t.Errorf("%s: %v", query, err)
			}
		}
		if len(nodes) != 1 && len(errs) == 0 || name != "" && len(errs) == 0 {
			t.Errorf("%s: %d queries", query, len(nodes))
		}
	}
}
