package ast

var typeNames = [...]string{
	TypeChar: "CHAR", TypeVarchar: "VARCHAR", TypeString: "STRING", TypeBinary: "BINARY", TypeVarbinary: "VARBINARY",
	TypeBytes: "BYTES", TypeBoolean: "BOOLEAN", TypeTinyint: "TINYINT", TypeSmallint: "SMALLINT", TypeInt: "INT",
	TypeBigint: "BIGINT", TypeFloat: "FLOAT", TypeDouble: "DOUBLE", TypeDecimal: "DECIMAL", TypeDate: "DATE",
	TypeTime: "TIME", TypeTimestamp: "TIMESTAMP", TypeTimestampLTZ: "TIMESTAMP_LTZ", TypeInterval: "INTERVAL",
	TypeArray: "ARRAY", TypeMultiset: "MULTISET", TypeMap: "MAP", TypeRow: "ROW", TypeStructured: "STRUCTURED",
	TypeRaw: "RAW", TypeVariant: "VARIANT", TypeBitmap: "BITMAP", TypeNamed: "",
}

// String returns the keyword of the type, "" for TypeNamed.
func (k TypeKind) String() string { return typeNames[k] }

// typ writes a type.
func (p *printer) typ(t *Type) {
	p.s(t.Kind.String())
	switch t.Kind {
	case TypeInterval:
		p.s(" ")
		p.intervalRange(t.Interval)
	case TypeArray, TypeMultiset:
		p.s("<")
		p.typ(t.Elem)
		p.s(">")
	case TypeMap:
		p.s("<")
		p.typ(t.Key)
		p.s(", ")
		p.typ(t.Elem)
		p.s(">")
	case TypeRow:
		p.s("<")
		list(p, t.Fields)
		p.s(">")
	case TypeStructured:
		p.s("<")
		p.node(t.Class)
		for _, f := range t.Fields {
			p.s(", ")
			p.field(f)
		}
		p.s(">")
	case TypeRaw:
		p.s("(")
		p.node(t.Class)
		p.s(", ")
		p.node(t.Serializer)
		p.s(")")
	case TypeNamed:
		p.path(t.Name.Parts)
	}
	if t.Length >= 0 {
		p.s("(")
		p.int(t.Length)
		if t.Scale >= 0 {
			p.s(", ")
			p.int(t.Scale)
		}
		p.s(")")
	}
	p.when(t.NotNull, " NOT NULL")
}

// field writes a field of a row.
func (p *printer) field(f *FieldDef) {
	p.name(f.Name)
	p.s(" ")
	p.typ(f.Type)
	if f.Comment != nil {
		p.s(" ")
		p.node(f.Comment)
	}
}

var unitNames = [...]string{
	"", "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND",
	"EPOCH", "DECADE", "CENTURY", "MILLENNIUM", "DOW", "ISODOW", "DOY", "ISOYEAR",
}

// String returns the unit's keyword.
func (u TimeUnit) String() string { return unitNames[u] }

// Unit returns the unit of a keyword in upper case, UnitNone if there is none.
func Unit(word string) TimeUnit {
	for i, n := range unitNames {
		if n == word {
			return TimeUnit(i)
		}
	}
	return UnitNone
}

// intervalRange writes DAY(3) TO SECOND(6) and its like.
func (p *printer) intervalRange(r *IntervalRange) {
	p.s(r.From.String())
	if r.Precision >= 0 {
		p.s("(")
		p.int(r.Precision)
		if r.From == UnitSecond && r.Fraction >= 0 {
			p.s(", ")
			p.int(r.Fraction)
		}
		p.s(")")
	}
	if r.To == UnitNone {
		return
	}
	p.s(" TO ", r.To.String())
	if r.Fraction >= 0 {
		p.s("(")
		p.int(r.Fraction)
		p.s(")")
	}
}
