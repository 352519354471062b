package logical

import (
	"slices"

	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/catalog"
)

// TableOf turns CREATE TABLE into the table that it describes. LIKE and AS are the caller's.
func TableOf(n *ast.CreateTable, path catalog.Path) (*catalog.Table, error) {
	t := &catalog.Table{Path: path, Options: map[string]string{}, Temporary: n.Temporary, Distribution: n.Distributed}
	if n.Comment != nil {
		t.Comment = n.Comment.Value
	}
	keys := n.Constraints
	for _, d := range n.Columns {
		c, err := columnOf(d)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(t.Columns, func(o catalog.Column) bool { return o.Name == c.Name }) {
			return nil, wrong(d, "there are two columns %s", c.Name)
		}
		t.Columns = append(t.Columns, c)
		if d.Constraint != nil {
			k := *d.Constraint
			k.Columns = []*ast.Ident{{Pos: d.Pos, Name: c.Name}}
			keys = append(keys, &k)
		}
	}
	for _, k := range keys {
		if err := addKey(t, k); err != nil {
			return nil, err
		}
	}
	for _, p := range n.PartitionBy {
		if !slices.ContainsFunc(t.Columns, func(c catalog.Column) bool { return c.Name == p.Name && c.Computed == nil }) {
			return nil, wrong(p, "PARTITIONED BY names the column %s, which the table has not", p.Name)
		}
		t.Partitions = append(t.Partitions, p.Name)
	}
	for _, o := range n.Options {
		t.Options[o.Key] = o.Value
	}
	if w := n.Watermark; w != nil {
		t.Watermark = &catalog.Watermark{Column: w.Column.Strings(), Expr: w.Expr}
	}
	return t, nil
}

func columnOf(d *ast.ColumnDef) (catalog.Column, error) {
	c := catalog.Column{Name: d.Name.Last(), Computed: d.Computed, Metadata: d.Metadata, Virtual: d.Virtual}
	if d.Comment != nil {
		c.Comment = d.Comment.Value
	}
	if c.Metadata {
		if c.Key = c.Name; d.MetadataKey != nil {
			c.Key = d.MetadataKey.Value
		}
	}
	if d.Type == nil {
		return c, nil
	}
	var err error
	c.Type, err = TypeOf(d.Type)
	return c, err
}

// addKey makes the columns of a primary key NOT NULL.
func addKey(t *catalog.Table, k *ast.Constraint) error {
	if k.Kind != ast.PrimaryKey {
		return wrong(k, "UNIQUE is not supported: declare a PRIMARY KEY ... NOT ENFORCED")
	}
	if k.Enforced != ast.NotEnforced {
		return wrong(k, "a PRIMARY KEY must be NOT ENFORCED: nobody checks it, the data must have it")
	}
	if t.PrimaryKey != nil {
		return wrong(k, "the table has two primary keys")
	}
	for _, c := range k.Columns {
		i := slices.IndexFunc(t.Columns, func(o catalog.Column) bool { return o.Name == c.Name })
		if i < 0 || t.Columns[i].Computed != nil || t.Columns[i].Virtual {
			return wrong(c, "the primary key names %s, which is no column that the table stores", c.Name)
		}
		t.Columns[i].Type.Nullable = false
		t.PrimaryKey = append(t.PrimaryKey, c.Name)
	}
	if k.Name != nil {
		t.KeyName = k.Name.Name
	}
	return nil
}
