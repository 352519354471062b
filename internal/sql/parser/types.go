package parser

import "github.com/weir-stream/weir/internal/sql/ast"

// typ takes a data type. NOT NULL may follow only where a column or a field is declared.
func (p *parser) typ(nullability bool) *ast.Type {
	pos := p.pos()
	if !p.enter() {
		p.leave()
		return &ast.Type{Pos: pos, Kind: ast.TypeInt, Length: -1, Scale: -1}
	}
	t := p.typeName()
	for {
		if nullability {
			if p.acceptAll("NOT NULL") {
				t.NotNull = true
			} else {
				p.accept("NULL")
			}
		}
		switch p.tok().kw {
		case "ARRAY":
			t = &ast.Type{Pos: pos, Kind: ast.TypeArray, Length: -1, Scale: -1, Elem: t}
		case "MULTISET":
			t = &ast.Type{Pos: pos, Kind: ast.TypeMultiset, Length: -1, Scale: -1, Elem: t}
		default:
			p.leave()
			return t
		}
		p.skip(1)
		p.link()
	}
}

// simpleTypes are the types that are one word, with a length or precision if they may have one.
var simpleTypes = map[string]ast.TypeKind{
	"VARCHAR": ast.TypeVarchar, "STRING": ast.TypeString, "VARBINARY": ast.TypeVarbinary, "BYTES": ast.TypeBytes,
	"BOOLEAN": ast.TypeBoolean, "TINYINT": ast.TypeTinyint, "SMALLINT": ast.TypeSmallint, "INT": ast.TypeInt,
	"INTEGER": ast.TypeInt, "BIGINT": ast.TypeBigint, "FLOAT": ast.TypeFloat, "REAL": ast.TypeFloat,
	"DECIMAL": ast.TypeDecimal, "DEC": ast.TypeDecimal, "NUMERIC": ast.TypeDecimal, "DATE": ast.TypeDate,
	"TIMESTAMP_LTZ": ast.TypeTimestampLTZ, "VARIANT": ast.TypeVariant, "BITMAP": ast.TypeBitmap,
}

// typeName takes a type without what may follow any type.
func (p *parser) typeName() *ast.Type {
	tok := p.tok()
	t := &ast.Type{Pos: tok.pos, Length: -1, Scale: -1}
	if kind, ok := simpleTypes[tok.kw]; ok {
		p.skip(1)
		t.Kind = kind
		p.typeLength(t)
		return t
	}
	switch tok.kw {
	case "CHAR", "CHARACTER", "BINARY":
		p.varying(t, tok.kw == "BINARY")
	case "DOUBLE":
		p.skip(1)
		t.Kind = ast.TypeDouble
		p.accept("PRECISION")
	case "TIME", "TIMESTAMP":
		p.timeType(t, tok.kw)
	case "INTERVAL":
		p.skip(1)
		t.Kind = ast.TypeInterval
		t.Interval = p.intervalRange(true)
	case "ARRAY", "MULTISET":
		p.skip(1)
		t.Kind = ast.TypeArray
		if tok.kw == "MULTISET" {
			t.Kind = ast.TypeMultiset
		}
		p.need("<")
		t.Elem = p.typ(true)
		p.need(">")
	case "ROW":
		p.rowType(t)
	case "STRUCTURED", "RAW":
		p.classType(t, tok.kw)
	default:
		p.otherType(t)
	}
	return t
}

// otherType takes MAP, or a type by a name.
func (p *parser) otherType(t *ast.Type) {
	tok := p.tok()
	switch {
	case tok.kw == "MAP" && p.peek(1).kw == "<":
		p.skip(2)
		t.Kind = ast.TypeMap
		t.Key = p.typ(true)
		p.need(",")
		t.Elem = p.typ(true)
		p.need(">")
	case nameToken(tok):
		t.Kind, t.Name = ast.TypeNamed, p.objectName()
	default:
		t.Kind = ast.TypeInt
		p.expect(aType)
		p.unexpected()
	}
}

// typeLength takes (n) or (p, s) behind a type that may have it.
func (p *parser) typeLength(t *ast.Type) {
	switch t.Kind {
	case ast.TypeVarchar, ast.TypeVarbinary, ast.TypeChar, ast.TypeBinary, ast.TypeDecimal, ast.TypeTime,
		ast.TypeTimestamp, ast.TypeTimestampLTZ:
	default:
		return
	}
	if !p.accept("(") {
		return
	}
	t.Length = p.integer()
	if t.Kind == ast.TypeDecimal && p.accept(",") {
		t.Scale = p.integer()
	}
	p.need(")")
}

// varying takes CHAR and BINARY, with VARYING or without.
func (p *parser) varying(t *ast.Type, binary bool) {
	p.skip(1)
	varying := p.accept("VARYING")
	switch {
	case binary && varying:
		t.Kind = ast.TypeVarbinary
	case binary:
		t.Kind = ast.TypeBinary
	case varying:
		t.Kind = ast.TypeVarchar
	default:
		t.Kind = ast.TypeChar
	}
	p.typeLength(t)
	if p.tok().kw == "CHARACTER" {
		p.refuse(p.i, "character sets of columns are not supported: all strings are Unicode")
	}
}

// timeType takes TIME and TIMESTAMP with precision and time zone.
func (p *parser) timeType(t *ast.Type, kw string) {
	p.skip(1)
	t.Kind = ast.TypeTimestamp
	if kw == "TIME" {
		t.Kind = ast.TypeTime
	}
	p.typeLength(t)
	switch {
	case p.acceptAll("WITHOUT TIME ZONE"):
	case p.tok().kw == "WITH" && (p.peek(1).kw == "LOCAL" || p.peek(1).kw == "TIME"):
		at := p.i
		p.skip(1)
		if p.tok().kw == "TIME" {
			p.refuse(at, "%s WITH TIME ZONE is not supported, by Flink neither; there is %s WITH LOCAL TIME ZONE", kw, "TIMESTAMP")
		}
		p.needAll("LOCAL TIME ZONE")
		if kw == "TIME" {
			p.refuse(at, "TIME WITH LOCAL TIME ZONE is not supported, by Flink neither")
		}
		t.Kind = ast.TypeTimestampLTZ
	}
}

// rowType takes ROW<...> or ROW(...).
func (p *parser) rowType(t *ast.Type) {
	p.skip(1)
	t.Kind = ast.TypeRow
	switch {
	case p.accept("<>"):
	case p.accept("<"):
		t.Fields = commaList(p, p.fieldDef)
		p.need(">")
	case p.accept("("):
		if !p.is(")") {
			t.Fields = commaList(p, p.fieldDef)
		}
		p.need(")")
	default:
		p.unexpected()
	}
}

// fieldDef takes a field of a row.
func (p *parser) fieldDef() *ast.FieldDef {
	f := &ast.FieldDef{Pos: p.pos(), Name: p.ident(), Type: p.typ(true)}
	if k := p.tok().kind; k == tString || k == tUnicode {
		f.Comment = p.stringLit()
	}
	return f
}

// classType takes STRUCTURED<'class', fields> and RAW('class', 'serializer').
func (p *parser) classType(t *ast.Type, kw string) {
	p.skip(1)
	if kw == "RAW" {
		t.Kind = ast.TypeRaw
		p.need("(")
		t.Class = p.stringLit()
		p.need(",")
		t.Serializer = p.stringLit()
		p.need(")")
		return
	}
	t.Kind = ast.TypeStructured
	p.need("<")
	t.Class = p.stringLit()
	for p.accept(",") {
		t.Fields = append(t.Fields, p.fieldDef())
	}
	p.need(">")
}
