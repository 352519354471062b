package ast

// create writes CREATE and DROP.
func (p *printer) create(s Statement) {
	switch s := s.(type) {
	case *CreateTable:
		p.createTable(s)
	case *CreateView:
		p.s("CREATE ")
		p.when(s.OrReplace, "OR REPLACE ")
		p.when(s.Temporary, "TEMPORARY ")
		p.head("VIEW ", s.IfNotExists, s.Name)
		p.columns(s.Columns)
		p.comment(s.Comment)
		p.s(" AS ")
		p.query(s.Query)
	case *CreateCatalog:
		p.s("CREATE CATALOG ")
		p.when(s.IfNotExists, "IF NOT EXISTS ")
		p.name(s.Name)
		p.comment(s.Comment)
		p.with(s.Options)
	case *CreateDatabase:
		p.s("CREATE ")
		p.head("DATABASE ", s.IfNotExists, s.Name)
		p.comment(s.Comment)
		p.with(s.Options)
	case *CreateFunction:
		p.createFunction(s)
	case *Drop:
		p.s("DROP ")
		p.when(s.Temporary, "TEMPORARY ")
		p.when(s.System, "SYSTEM ")
		p.s(s.Kind.String(), " ")
		p.when(s.IfExists, "IF EXISTS ")
		p.path(s.Name.Parts)
		p.when(s.Cascade, " CASCADE")
	}
}

// head writes a keyword, IF NOT EXISTS and a name.
func (p *printer) head(word string, ifNotExists bool, name *ObjectName) {
	p.s(word)
	p.when(ifNotExists, "IF NOT EXISTS ")
	p.path(name.Parts)
}

// createTable writes CREATE TABLE.
func (p *printer) createTable(s *CreateTable) {
	if s.Replace {
		p.s("REPLACE ")
	} else {
		p.s("CREATE ")
		p.when(s.OrReplace, "OR REPLACE ")
	}
	p.when(s.Temporary, "TEMPORARY ")
	p.head("TABLE ", s.IfNotExists, s.Name)
	if len(s.Columns) > 0 || len(s.Constraints) > 0 || s.Watermark != nil {
		p.s(" ")
		p.tableElements(s.Columns, s.Constraints, s.Watermark)
	}
	p.comment(s.Comment)
	if s.Distributed != nil {
		p.s(" DISTRIBUTED")
		p.distribution(s.Distributed)
	}
	if len(s.PartitionBy) > 0 {
		p.s(" PARTITIONED BY ")
		parens(p, s.PartitionBy)
	}
	p.with(s.Options)
	if s.Like != nil {
		p.s(" ")
		p.tableLike(s.Like)
	}
	if s.As != nil {
		p.s(" AS ")
		p.query(s.As)
	}
}

// tableElements writes what stands in a table's parentheses: columns, then constraints, then the watermark.
func (p *printer) tableElements(cols []*ColumnDef, cons []*Constraint, w *Watermark) {
	p.s("(")
	sep := ""
	for _, c := range cols {
		p.s(sep)
		p.column(c)
		sep = ", "
	}
	for _, c := range cons {
		p.s(sep)
		p.constraint(c)
		sep = ", "
	}
	if w != nil {
		p.s(sep)
		p.watermark(w)
	}
	p.s(")")
}

// column writes a column's definition.
func (p *printer) column(c *ColumnDef) {
	p.path(c.Name.Parts)
	if c.Type != nil {
		p.s(" ")
		p.typ(c.Type)
	}
	p.clause(" AS ", c.Computed)
	p.when(c.Metadata, " METADATA")
	if c.MetadataKey != nil {
		p.s(" FROM ")
		p.node(c.MetadataKey)
	}
	p.when(c.Virtual, " VIRTUAL")
	if c.Constraint != nil {
		p.s(" ")
		p.constraint(c.Constraint)
	}
	p.comment(c.Comment)
	p.when(c.First, " FIRST")
	if c.After != nil {
		p.s(" AFTER ")
		p.path(c.After.Parts)
	}
}

// constraint writes PRIMARY KEY or UNIQUE.
func (p *printer) constraint(c *Constraint) {
	if c.Name != nil {
		p.s("CONSTRAINT ")
		p.name(c.Name)
		p.s(" ")
	}
	p.s([...]string{"PRIMARY KEY", "UNIQUE"}[c.Kind])
	p.columns(c.Columns)
	p.s([...]string{"", " ENFORCED", " NOT ENFORCED"}[c.Enforced])
}

// watermark writes WATERMARK FOR.
func (p *printer) watermark(w *Watermark) {
	p.s("WATERMARK FOR ")
	p.path(w.Column.Parts)
	p.s(" AS ")
	p.expr(w.Expr, 0)
}

// distribution writes what stands behind DISTRIBUTED or DISTRIBUTION.
func (p *printer) distribution(d *Distribution) {
	if len(d.Columns) > 0 {
		p.s(" BY ", [...]string{"", "HASH", "RANGE"}[d.Kind])
		parens(p, d.Columns)
	}
	if d.Buckets != nil {
		p.s(" INTO ", d.Buckets.Text, " BUCKETS")
	}
}

var likeFeatures = [...]string{
	"ALL", "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS",
}

// String returns the keyword of the feature.
func (f LikeFeature) String() string { return likeFeatures[f] }

// tableLike writes LIKE.
func (p *printer) tableLike(l *TableLike) {
	p.s("LIKE ")
	p.path(l.Source.Parts)
	for i, o := range l.Options {
		p.s([...]string{" ", " ("}[b2i(i == 0)])
		p.ddlPart(o)
	}
	p.when(len(l.Options) > 0, ")")
}

// createFunction writes CREATE FUNCTION.
func (p *printer) createFunction(s *CreateFunction) {
	p.s("CREATE ")
	p.when(s.Temporary, "TEMPORARY ")
	p.when(s.System, "SYSTEM ")
	p.head("FUNCTION ", s.IfNotExists, s.Name)
	p.s(" AS ")
	p.node(s.Class)
	p.when(s.Language != "", " LANGUAGE "+s.Language)
	if len(s.Using) > 0 {
		p.s(" USING ")
		list(p, s.Using)
	}
	p.with(s.Options)
}

// ddlPart writes one of the smaller nodes of DDL.
func (p *printer) ddlPart(n Node) {
	switch n := n.(type) {
	case *ColumnDef:
		p.column(n)
	case *Constraint:
		p.constraint(n)
	case *Watermark:
		p.watermark(n)
	case *Distribution:
		p.s("DISTRIBUTED")
		p.distribution(n)
	case *TableLike:
		p.tableLike(n)
	case *LikeOption:
		p.s([...]string{"INCLUDING ", "EXCLUDING ", "OVERWRITING "}[n.Mode], n.Feature.String())
	case *Resource:
		p.s([...]string{"JAR ", "ARTIFACT "}[b2i(n.Artifact)], QuoteString(n.Path))
	case *PartitionDef:
		p.s("PARTITION ")
		parens(p, n.Items)
		p.with(n.Options)
	}
}

// alterStatement writes ALTER.
func (p *printer) alterStatement(s Statement) {
	p.s("ALTER ")
	switch s := s.(type) {
	case *AlterTable:
		p.s("TABLE ")
		p.when(s.IfExists, "IF EXISTS ")
		p.path(s.Name.Parts)
		p.s(" ")
		p.alter(s.Action)
	case *AlterView:
		p.s("VIEW ")
		p.path(s.Name.Parts)
		p.s(" ")
		p.alter(s.Action)
	case *AlterDatabase:
		p.s("DATABASE ")
		p.path(s.Name.Parts)
		p.s(" SET ")
		p.options(s.Options)
	case *AlterCatalog:
		p.s("CATALOG ")
		p.name(s.Name)
		p.s(" ")
		p.alter(s.Action)
	case *AlterFunction:
		p.when(s.Temporary, "TEMPORARY ")
		p.when(s.System, "SYSTEM ")
		p.s("FUNCTION ")
		p.when(s.IfExists, "IF EXISTS ")
		p.path(s.Name.Parts)
		p.s(" AS ")
		p.node(s.Class)
		p.when(s.Language != "", " LANGUAGE "+s.Language)
	}
}

// alter writes what an ALTER does.
func (p *printer) alter(a AlterAction) {
	switch a := a.(type) {
	case *AlterColumns:
		p.alterColumns(a)
	case *AlterDropColumns:
		p.s("DROP ")
		parens(p, a.Columns)
	case *AlterDropPrimaryKey:
		p.s("DROP PRIMARY KEY")
	case *AlterDropConstraint:
		p.s("DROP CONSTRAINT ")
		p.name(a.Name)
	case *AlterDropWatermark:
		p.s("DROP WATERMARK")
	case *AlterDropDistribution:
		p.s("DROP DISTRIBUTION")
	case *AlterRenameColumn:
		p.s("RENAME ")
		p.path(a.From.Parts)
		p.s(" TO ")
		p.path(a.To.Parts)
	case *AlterRename:
		p.s("RENAME TO ")
		p.path(a.To.Parts)
	case *AlterSet:
		p.s("SET ")
		p.options(a.Options)
	case *AlterReset:
		p.s("RESET ")
		parens(p, a.Keys)
	case *AlterAs:
		p.s("AS ")
		p.query(a.Query)
	case *AlterComment:
		p.s("COMMENT ", QuoteString(a.Text))
	case *AlterAddPartition:
		p.s("ADD ")
		p.when(a.IfNotExists, "IF NOT EXISTS ")
		for i, d := range a.Partitions {
			p.when(i > 0, " ")
			p.ddlPart(d)
		}
	case *AlterDropPartition:
		p.s("DROP ")
		p.when(a.IfExists, "IF EXISTS ")
		list(p, a.Partitions)
	}
}

// alterColumns writes ADD or MODIFY.
func (p *printer) alterColumns(a *AlterColumns) {
	p.s([...]string{"ADD ", "MODIFY "}[b2i(a.Modify)])
	if a.Distributed != nil {
		p.s("DISTRIBUTION")
		p.distribution(a.Distributed)
		return
	}
	p.tableElements(a.Columns, a.Constraints, a.Watermark)
}
