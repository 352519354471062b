package logical

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
)

// visible is a column that can be named.
type visible struct {
	// table is the alias or name of its table, "" if it has none.
	table string
	col   Column
	// hidden columns are found by their table's name only: the right ones of USING.
	hidden bool
}

// scope is what can be named at some place: the columns of one relation, by number.
type scope struct{ cols []visible }

func scopeOf(table string, cols []Column) *scope {
	s := &scope{}
	for _, c := range cols {
		s.cols = append(s.cols, visible{table: table, col: c})
	}
	return s
}

// beside is the scope of two relations side by side.
func (s *scope) beside(o *scope) *scope {
	return &scope{cols: append(append([]visible(nil), s.cols...), o.cols...)}
}

// names lists what can be said in place of a name that is unknown.
func (s *scope) names() []string {
	var out []string
	for _, c := range s.cols {
		out = append(out, c.col.Name)
		if c.table != "" {
			out = append(out, c.table)
		}
	}
	return out
}

// column is the expression of column i.
func (s *scope) column(i int) expr.Expr {
	return &expr.Column{Index: i, Name: s.cols[i].col.Name, Of: s.cols[i].col.Type}
}

// find looks a name of several parts up: as a table's column, or a column, with fields of rows behind either.
func (s *scope) find(ref *ast.ColumnRef) (expr.Expr, error) {
	first := ref.Parts[0].Name
	if len(ref.Parts) > 1 {
		i, err := s.one(ref, first, ref.Parts[1].Name)
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			return s.fields(ref, s.column(i), 2)
		}
	}
	i, err := s.one(ref, "", first)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		return s.fields(ref, s.column(i), 1)
	}
	if len(ref.Parts) == 1 {
		return nil, unknown(ref, "column", first, s.names())
	}
	if of := s.of(first); of != nil {
		return nil, unknown(ref.Parts[1], "column", first+"."+ref.Parts[1].Name, of)
	}
	return nil, unknown(ref, "table or column", first, s.names())
}

// of lists the columns of a table.
func (s *scope) of(table string) []string {
	var out []string
	for _, c := range s.cols {
		if c.table == table {
			out = append(out, c.col.Name)
		}
	}
	return out
}

// one returns the number of the one column of that name, of that table if table is not "", or -1.
func (s *scope) one(at ast.Node, table, name string) (int, error) {
	found := -1
	for i, c := range s.cols {
		if c.col.Name != name || table != "" && c.table != table || table == "" && c.hidden {
			continue
		}
		if found >= 0 {
			return -1, wrong(at, "the column %s is ambiguous: it is in %s and in %s", name, shown(s.cols[found].table), shown(c.table))
		}
		found = i
	}
	return found, nil
}

func shown(table string) string {
	if table == "" {
		return "a table without a name"
	}
	return table
}

// fields goes into rows by the parts of a name from at on.
func (s *scope) fields(ref *ast.ColumnRef, e expr.Expr, at int) (expr.Expr, error) {
	for _, p := range ref.Parts[at:] {
		var err error
		if e, err = fieldOf(p, e, p.Name); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// FieldAccess takes a field of a ROW; the option "index" is its number.
var FieldAccess = &expr.Function{Name: "FIELD"}

func fieldOf(at ast.Node, e expr.Expr, name string) (expr.Expr, error) {
	t := e.Type()
	if t.Root != datatype.Row {
		return nil, wrong(at, "%v of type %v has no fields", e, t)
	}
	i := slices.Index(t.Names, name)
	if i < 0 {
		return nil, unknown(at, "field in "+e.String()+" called", name, t.Names)
	}
	of := t.Of[i].WithNull(t.Of[i].Nullable || t.Nullable)
	return &expr.Call{Fn: FieldAccess, Args: []expr.Expr{e}, Of: of, Options: map[string]string{"index": strconv.Itoa(i), "name": name}}, nil
}

// identity is a text that two expressions over the same columns share if and only if they are the same.
func identity(e expr.Expr) string {
	var b strings.Builder
	identify(&b, e)
	return b.String()
}

func identify(b *strings.Builder, e expr.Expr) {
	switch x := e.(type) {
	case *expr.Column:
		b.WriteString("#" + strconv.Itoa(x.Index))
		return
	case *keyRef:
		b.WriteString("key#" + strconv.Itoa(x.Index))
		return
	case *callRef:
		b.WriteString("call#" + strconv.Itoa(x.Index))
		return
	case *expr.Literal:
		b.WriteString(x.String() + ":" + x.Of.String())
		return
	case *expr.Call:
		b.WriteString(x.Fn.Name)
		for _, k := range slices.Sorted(maps.Keys(x.Options)) {
			b.WriteString("{" + k + "=" + x.Options[k] + "}")
		}
	case *expr.Cast:
		b.WriteString("CAST:" + x.Of.String())
		if x.Try {
			b.WriteString("?")
		}
	case *expr.Case:
		b.WriteString("CASE")
	}
	b.WriteString("(")
	for _, c := range expr.Children(e) {
		identify(b, c)
		b.WriteString(",")
	}
	b.WriteString(")")
}
