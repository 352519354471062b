package parser

import (
	"strings"

	"github.com/weir-stream/weir/internal/sql/ast"
)

// create takes CREATE, and REPLACE TABLE.
func (p *parser) create() ast.Statement {
	pos := p.pos()
	if p.accept("REPLACE") {
		t := &ast.CreateTable{Pos: pos, Replace: true}
		p.need("TABLE")
		p.createTable(t)
		if t.As == nil {
			p.need("AS")
		}
		return t
	}
	p.need("CREATE")
	replace := p.acceptAll("OR REPLACE")
	temporary := p.accept("TEMPORARY")
	at := p.i
	switch {
	case p.accept("TABLE"):
		t := &ast.CreateTable{Pos: pos, OrReplace: replace, Temporary: temporary}
		p.createTable(t)
		return t
	case p.accept("VIEW"):
		return p.createView(&ast.CreateView{Pos: pos, OrReplace: replace, Temporary: temporary})
	case p.accept("CATALOG"):
		p.only(at, "CATALOG", replace, temporary)
		c := &ast.CreateCatalog{Pos: pos, IfNotExists: p.acceptAll("IF NOT EXISTS"), Name: p.ident()}
		c.Comment, c.Options = p.commentAndOptions()
		return c
	case p.accept("DATABASE"):
		p.only(at, "DATABASE", replace, temporary)
		d := &ast.CreateDatabase{Pos: pos, IfNotExists: p.acceptAll("IF NOT EXISTS"), Name: p.objectName()}
		d.Comment, d.Options = p.commentAndOptions()
		return d
	case p.accept("SYSTEM"):
		if !temporary {
			p.refuse(at, "system functions are temporary: write CREATE TEMPORARY SYSTEM FUNCTION")
		}
		p.need("FUNCTION")
		p.only(at, "FUNCTION", replace, false)
		return p.createFunction(&ast.CreateFunction{Pos: pos, Temporary: temporary, System: true})
	case p.accept("FUNCTION"):
		p.only(at, "FUNCTION", replace, false)
		return p.createFunction(&ast.CreateFunction{Pos: pos, Temporary: temporary})
	}
	p.noSuchObject()
	p.unexpected()
	return &ast.EndStatementSet{}
}

// only refuses OR REPLACE and TEMPORARY where they say nothing.
func (p *parser) only(at int, what string, replace, temporary bool) {
	switch {
	case replace:
		p.refuse(at, "OR REPLACE stands before TABLE and VIEW only, not before %s", what)
	case temporary:
		p.refuse(at, "there is no temporary %s", what)
	}
}

// noSuchObject refuses the kinds of objects that Flink has and Weir has not.
func (p *parser) noSuchObject() {
	switch kw := p.tok().kw; kw {
	case "MODEL", "CONNECTION", "MODELS", "CONNECTIONS":
		p.refuse(p.i, "%sS are not supported", strings.TrimSuffix(kw, "S"))
	case "MATERIALIZED":
		p.refuse(p.i, "materialized tables are not supported")
	}
}

// createTable takes what stands behind CREATE TABLE.
func (p *parser) createTable(t *ast.CreateTable) {
	t.IfNotExists = p.acceptAll("IF NOT EXISTS")
	t.Name = p.objectName()
	untyped := -1
	if p.is("(") {
		untyped = p.tableElements(t)
	}
	t.Comment = p.comment()
	if p.accept("DISTRIBUTED") {
		t.Distributed = p.distribution()
	}
	if p.accept("PARTITIONED") {
		p.need("BY")
		t.PartitionBy = p.idents()
	}
	if p.accept("WITH") {
		t.Options = p.options()
	}
	switch {
	case p.accept("LIKE"):
		t.Like = p.tableLike()
	case p.accept("AS"):
		t.As = p.query()
	case untyped >= 0:
		p.refuse(untyped, "the columns need types; without types they only order those of a query, behind AS")
	}
}

// tableElements takes a table's columns, constraints and watermark in parentheses. If the columns are names only, it
// returns where the first one stands, else -1.
func (p *parser) tableElements(t *ast.CreateTable) int {
	p.need("(")
	first := p.i
	if n := p.peek(1); nameToken(p.tok()) && (n.kw == "," || n.kw == ")") {
		t.Columns = commaList(p, func() *ast.ColumnDef {
			name := p.objectName()
			return &ast.ColumnDef{Pos: name.Pos, Name: name}
		})
		p.need(")")
		return first
	}
	e := tableParts{watermark: &t.Watermark, columns: &t.Columns, constraints: &t.Constraints}
	p.tableElement(e, false)
	for p.accept(",") {
		p.tableElement(e, false)
	}
	p.need(")")
	return -1
}

// tableParts are where the elements of a table go.
type tableParts struct {
	columns     *[]*ast.ColumnDef
	constraints *[]*ast.Constraint
	watermark   **ast.Watermark
}

// tableElement takes one column, constraint or watermark. In ALTER TABLE a column has a place.
func (p *parser) tableElement(e tableParts, placed bool) {
	at := p.i
	switch {
	case p.is("CONSTRAINT") || p.is("PRIMARY") || p.is("UNIQUE"):
		*e.constraints = append(*e.constraints, p.constraint(true))
	case p.is("WATERMARK"):
		w := &ast.Watermark{Pos: p.pos()}
		p.skip(1)
		p.need("FOR")
		w.Column = p.objectName()
		p.need("AS")
		w.Expr = p.expr()
		if *e.watermark != nil {
			p.refuse(at, "a table has one watermark at most")
		}
		*e.watermark = w
	case p.tok().kw == "FOREIGN" || p.tok().kw == "CHECK":
		p.refuse(p.i, "there are no constraints but PRIMARY KEY and UNIQUE")
	default:
		c := p.column()
		if placed {
			p.place(c)
		}
		*e.columns = append(*e.columns, c)
	}
}

// column takes a column's definition.
func (p *parser) column() *ast.ColumnDef {
	c := &ast.ColumnDef{Pos: p.pos(), Name: p.objectName()}
	if p.accept("AS") {
		c.Computed = p.expr()
		c.Comment = p.comment()
		return c
	}
	c.Type = p.typ(true)
	if p.accept("METADATA") {
		c.Metadata = true
		if p.accept("FROM") {
			c.MetadataKey = p.stringLit()
		}
		c.Virtual = p.accept("VIRTUAL")
	} else if p.is("CONSTRAINT") || p.is("PRIMARY") || p.is("UNIQUE") {
		c.Constraint = p.constraint(false)
	}
	switch kw := p.tok().kw; kw {
	case "DEFAULT", "CHECK":
		p.refuse(p.i, "columns take no %s", kw)
	}
	c.Comment = p.comment()
	return c
}

// place takes FIRST or AFTER behind a column.
func (p *parser) place(c *ast.ColumnDef) {
	if p.accept("FIRST") {
		c.First = true
	} else if p.accept("AFTER") {
		c.After = p.objectName()
	}
}

// constraint takes a constraint of a table or of one column.
func (p *parser) constraint(ofTable bool) *ast.Constraint {
	c := &ast.Constraint{Pos: p.pos()}
	if p.accept("CONSTRAINT") {
		c.Name = p.ident()
	}
	if p.accept("UNIQUE") {
		c.Kind = ast.Unique
	} else {
		p.needAll("PRIMARY KEY")
	}
	if ofTable {
		c.Columns = p.idents()
	}
	switch {
	case p.accept("ENFORCED"):
		c.Enforced = ast.Enforced
	case p.acceptAll("NOT ENFORCED"):
		c.Enforced = ast.NotEnforced
	}
	return c
}

// comment takes COMMENT and a string, if it is there.
func (p *parser) comment() *ast.StringLit {
	if !p.accept("COMMENT") {
		return nil
	}
	return p.stringLit()
}

// commentAndOptions takes COMMENT and WITH, if they are there.
func (p *parser) commentAndOptions() (*ast.StringLit, []*ast.Option) {
	c := p.comment()
	if p.accept("WITH") {
		return c, p.options()
	}
	return c, nil
}

// options takes ('key' = 'value', ...), which may be empty.
func (p *parser) options() []*ast.Option {
	p.need("(")
	if p.accept(")") {
		return nil
	}
	opts := commaList(p, p.option)
	p.need(")")
	return opts
}

// option takes 'key' = 'value'.
func (p *parser) option() *ast.Option {
	if nameToken(p.tok()) {
		p.refuse(p.i, "found %s, expected a string; the key of an option stands in quotes", found(p.tok()))
	}
	o := &ast.Option{Pos: p.pos(), Key: p.text()}
	p.need("=")
	if t := p.tok(); t.kind == tNumber || t.kind == tWord {
		p.refuse(p.i, "found %s, expected a string; the value of an option stands in quotes, whatever its type", found(t))
	}
	o.Value = p.text()
	return o
}

// distribution takes what stands behind DISTRIBUTED or DISTRIBUTION.
func (p *parser) distribution() *ast.Distribution {
	d := &ast.Distribution{Pos: p.pos()}
	if p.accept("BY") {
		switch {
		case p.accept("HASH"):
			d.Kind = ast.DistributionHash
		case p.accept("RANGE"):
			d.Kind = ast.DistributionRange
		}
		d.Columns = p.idents()
		if !p.is("INTO") {
			return d
		}
	}
	p.need("INTO")
	d.Buckets = p.number()
	p.need("BUCKETS")
	return d
}

// likeFeatures are the parts of a table that LIKE may take over.
var likeFeatures = [...]ast.LikeFeature{
	ast.LikeAll, ast.LikeConstraints, ast.LikeDistribution, ast.LikeGenerated, ast.LikeMetadata, ast.LikeOptions,
	ast.LikePartitions, ast.LikeWatermarks,
}

// tableLike takes what stands behind LIKE.
func (p *parser) tableLike() *ast.TableLike {
	l := &ast.TableLike{Pos: p.pos(), Source: p.objectName()}
	if !p.accept("(") {
		return l
	}
	for {
		o := &ast.LikeOption{Pos: p.pos()}
		switch {
		case p.accept("INCLUDING"):
		case p.accept("EXCLUDING"):
			o.Mode = ast.Excluding
		case p.accept("OVERWRITING"):
			o.Mode = ast.Overwriting
		case len(l.Options) > 0:
			p.need(")")
			return l
		default:
			p.unexpected()
			return l
		}
		known := false
		for _, f := range likeFeatures {
			if known = p.accept(f.String()); known {
				o.Feature = f
				break
			}
		}
		if !known {
			p.unexpected()
			return l
		}
		l.Options = append(l.Options, o)
	}
}

// createView takes what stands behind CREATE VIEW.
func (p *parser) createView(v *ast.CreateView) ast.Statement {
	v.IfNotExists = p.acceptAll("IF NOT EXISTS")
	v.Name = p.objectName()
	if p.is("(") {
		v.Columns = p.idents()
	}
	v.Comment = p.comment()
	p.need("AS")
	v.Query = p.query()
	return v
}

// createFunction takes what stands behind CREATE FUNCTION.
func (p *parser) createFunction(f *ast.CreateFunction) ast.Statement {
	f.IfNotExists = p.acceptAll("IF NOT EXISTS")
	f.Name = p.objectName()
	p.need("AS")
	f.Class = p.stringLit()
	f.Language = p.language()
	if p.accept("USING") {
		f.Using = commaList(p, p.resource)
	}
	if p.accept("WITH") {
		f.Options = p.options()
	}
	return f
}

// language takes LANGUAGE and its name, if it is there.
func (p *parser) language() string {
	if !p.accept("LANGUAGE") {
		return ""
	}
	for _, l := range [...]string{"JAVA", "SCALA", "SQL", "PYTHON"} {
		if p.accept(l) {
			return l
		}
	}
	p.unexpected()
	return ""
}

// resource takes JAR or ARTIFACT and a path.
func (p *parser) resource() *ast.Resource {
	r := &ast.Resource{Pos: p.pos()}
	if p.accept("ARTIFACT") {
		r.Artifact = true
	} else {
		p.need("JAR")
	}
	r.Path = p.text()
	return r
}

// drop takes DROP.
func (p *parser) drop() ast.Statement {
	d := &ast.Drop{Pos: p.pos()}
	p.need("DROP")
	d.Temporary = p.accept("TEMPORARY")
	at := p.i
	switch {
	case p.accept("TABLE"):
	case p.accept("VIEW"):
		d.Kind = ast.ObjectView
	case p.accept("CATALOG"):
		d.Kind = ast.ObjectCatalog
		p.only(at, "CATALOG", false, d.Temporary)
	case p.accept("DATABASE"):
		d.Kind = ast.ObjectDatabase
		p.only(at, "DATABASE", false, d.Temporary)
	case p.accept("SYSTEM"):
		d.System, d.Kind = true, ast.ObjectFunction
		if !d.Temporary {
			p.refuse(at, "system functions are temporary: write DROP TEMPORARY SYSTEM FUNCTION")
		}
		p.need("FUNCTION")
	case p.accept("FUNCTION"):
		d.Kind = ast.ObjectFunction
	default:
		p.noSuchObject()
		p.unexpected()
	}
	d.IfExists = p.acceptAll("IF EXISTS")
	d.Name = p.objectName()
	if d.Kind == ast.ObjectDatabase && !p.accept("RESTRICT") {
		d.Cascade = p.accept("CASCADE")
	}
	return d
}
