package parser

import "github.com/weir-stream/weir/internal/sql/ast"

// alter takes ALTER.
func (p *parser) alter() ast.Statement {
	pos := p.pos()
	p.need("ALTER")
	switch {
	case p.accept("TABLE"):
		s := &ast.AlterTable{Pos: pos, IfExists: p.acceptAll("IF EXISTS"), Name: p.objectName()}
		s.Action = p.alterTable()
		return s
	case p.accept("VIEW"):
		s := &ast.AlterView{Pos: pos, Name: p.objectName()}
		at := p.pos()
		if p.accept("AS") {
			s.Action = &ast.AlterAs{Pos: at, Query: p.query()}
		} else {
			p.needAll("RENAME TO")
			s.Action = &ast.AlterRename{Pos: at, To: p.objectName()}
		}
		return s
	case p.accept("DATABASE"):
		s := &ast.AlterDatabase{Pos: pos, Name: p.objectName()}
		p.need("SET")
		s.Options = p.options()
		return s
	case p.accept("CATALOG"):
		return p.alterCatalog(pos)
	case p.is("TEMPORARY") || p.is("FUNCTION"):
		return p.alterFunction(pos)
	}
	p.noSuchObject()
	p.unexpected()
	return &ast.EndStatementSet{}
}

// alterCatalog takes what stands behind ALTER CATALOG.
func (p *parser) alterCatalog(pos ast.Pos) ast.Statement {
	s := &ast.AlterCatalog{Pos: pos, Name: p.ident()}
	at := p.pos()
	switch {
	case p.accept("SET"):
		s.Action = &ast.AlterSet{Pos: at, Options: p.options()}
	case p.accept("RESET"):
		s.Action = p.alterReset(at)
	default:
		p.need("COMMENT")
		s.Action = &ast.AlterComment{Pos: at, Text: p.text()}
	}
	return s
}

// alterReset takes what stands behind RESET.
func (p *parser) alterReset(pos ast.Pos) ast.AlterAction {
	r := &ast.AlterReset{Pos: pos}
	p.need("(")
	if !p.is(")") {
		r.Keys = commaList(p, p.stringLit)
	}
	p.need(")")
	return r
}

// alterFunction takes what stands behind ALTER, for functions.
func (p *parser) alterFunction(pos ast.Pos) ast.Statement {
	s := &ast.AlterFunction{Pos: pos, Temporary: p.accept("TEMPORARY")}
	s.System = s.Temporary && p.accept("SYSTEM")
	p.need("FUNCTION")
	s.IfExists = p.acceptAll("IF EXISTS")
	s.Name = p.objectName()
	p.need("AS")
	s.Class = p.stringLit()
	s.Language = p.language()
	return s
}

// alterTable takes what ALTER TABLE does.
func (p *parser) alterTable() ast.AlterAction {
	pos := p.pos()
	switch {
	case p.accept("RENAME"):
		if p.accept("TO") {
			return &ast.AlterRename{Pos: pos, To: p.objectName()}
		}
		a := &ast.AlterRenameColumn{Pos: pos, From: p.objectName()}
		p.need("TO")
		a.To = p.objectName()
		return a
	case p.accept("SET"):
		return &ast.AlterSet{Pos: pos, Options: p.options()}
	case p.accept("RESET"):
		return p.alterReset(pos)
	case p.accept("ADD"):
		return p.alterAdd(pos)
	case p.accept("MODIFY"):
		return p.alterColumns(&ast.AlterColumns{Pos: pos, Modify: true})
	case p.accept("DROP"):
		return p.alterDrop(pos)
	}
	p.unexpected()
	return &ast.AlterDropWatermark{}
}

// alterAdd takes what stands behind ADD.
func (p *parser) alterAdd(pos ast.Pos) ast.AlterAction {
	ifNotExists := p.acceptAll("IF NOT EXISTS")
	if !p.is("PARTITION") {
		if ifNotExists {
			p.unexpected()
		}
		return p.alterColumns(&ast.AlterColumns{Pos: pos})
	}
	a := &ast.AlterAddPartition{Pos: pos, IfNotExists: ifNotExists}
	for p.is("PARTITION") {
		d := p.partitionDef()
		if p.accept("WITH") {
			d.Options = p.options()
		}
		a.Partitions = append(a.Partitions, d)
	}
	return a
}

// partitionDef takes PARTITION (...).
func (p *parser) partitionDef() *ast.PartitionDef {
	d := &ast.PartitionDef{Pos: p.pos()}
	p.need("PARTITION")
	d.Items = p.partition(true)
	return d
}

// alterColumns takes what stands behind ADD or MODIFY, if it is no partition.
func (p *parser) alterColumns(a *ast.AlterColumns) ast.AlterAction {
	if p.accept("DISTRIBUTION") {
		a.Distributed = p.distribution()
		return a
	}
	e := tableParts{columns: &a.Columns, constraints: &a.Constraints, watermark: &a.Watermark}
	if !p.accept("(") {
		if p.tok().kw == "COLUMN" {
			p.refuse(p.i, "the column's name stands directly behind ADD or MODIFY, without COLUMN")
		}
		p.tableElement(e, true)
		return a
	}
	p.tableElement(e, true)
	for p.accept(",") {
		p.tableElement(e, true)
	}
	p.need(")")
	return a
}

// alterDrop takes what stands behind DROP.
func (p *parser) alterDrop(pos ast.Pos) ast.AlterAction {
	switch {
	case p.accept("PRIMARY"):
		p.need("KEY")
		return &ast.AlterDropPrimaryKey{Pos: pos}
	case p.accept("CONSTRAINT"):
		return &ast.AlterDropConstraint{Pos: pos, Name: p.ident()}
	case p.accept("WATERMARK"):
		return &ast.AlterDropWatermark{Pos: pos}
	case p.accept("DISTRIBUTION"):
		return &ast.AlterDropDistribution{Pos: pos}
	case p.is("("):
		return &ast.AlterDropColumns{Pos: pos, Columns: parenList(p, p.objectName)}
	}
	a := &ast.AlterDropPartition{Pos: pos, IfExists: p.acceptAll("IF EXISTS")}
	if p.is("PARTITION") {
		a.Partitions = commaList(p, p.partitionDef)
		return a
	}
	if a.IfExists {
		p.unexpected()
	}
	if p.tok().kw == "COLUMN" {
		p.refuse(p.i, "the column's name stands directly behind DROP, without COLUMN")
	}
	return &ast.AlterDropColumns{Pos: pos, Columns: []*ast.ObjectName{p.objectName()}}
}
