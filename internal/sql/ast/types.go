package ast

// TypeKind is the constructor of a type.
type TypeKind uint8

// The kinds of types. Synonyms fall together: DEC and NUMERIC are TypeDecimal, INTEGER is TypeInt, DOUBLE PRECISION is
// TypeDouble, CHAR VARYING is TypeVarchar, TIMESTAMP WITH LOCAL TIME ZONE is TypeTimestampLTZ. STRING and BYTES stay what
// they are, so that they can be shown as they were written.
const (
	TypeInvalid TypeKind = iota
	TypeChar
	TypeVarchar
	TypeString
	TypeBinary
	TypeVarbinary
	TypeBytes
	TypeBoolean
	TypeTinyint
	TypeSmallint
	TypeInt
	TypeBigint
	TypeFloat
	TypeDouble
	TypeDecimal
	TypeDate
	TypeTime
	TypeTimestamp
	TypeTimestampLTZ
	TypeInterval
	TypeArray
	TypeMultiset
	TypeMap
	TypeRow
	TypeStructured
	TypeRaw
	TypeVariant
	TypeBitmap
	// TypeNamed is a type by a name that the language does not know.
	TypeNamed
)

// Type is a data type as written.
type Type struct {
	Pos
	Kind TypeKind
	// NotNull is NOT NULL; NULL, or nothing, is the default.
	NotNull bool
	// Length is the length of CHAR(n), BINARY(n) and their like, or the precision of DECIMAL, TIME and TIMESTAMP; -1 where
	// not written.
	Length int
	// Scale is that of DECIMAL(p, s); -1 where not written.
	Scale int
	// Interval is that of INTERVAL DAY TO SECOND and its like.
	Interval *IntervalRange
	// Key is that of MAP.
	Key *Type
	// Elem is that of ARRAY and MULTISET, and the value of MAP.
	Elem *Type
	// Fields are those of ROW and STRUCTURED.
	Fields []*FieldDef
	// Class is the class of RAW and STRUCTURED; Serializer is what follows it in RAW.
	Class, Serializer *StringLit
	// Name is that of TypeNamed.
	Name *ObjectName
}

// FieldDef is a field of a ROW type.
type FieldDef struct {
	Pos
	Name    *Ident
	Type    *Type
	Comment *StringLit
}
