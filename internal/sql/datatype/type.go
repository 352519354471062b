package datatype

import (
	"fmt"
	"slices"
	"strings"
)

// Root says what a type is, without its parameters.
type Root uint8

// The roots, in the order in which Flink lists them.
const (
	Null Root = iota + 1
	Char
	Varchar
	Boolean
	Binary
	Varbinary
	Decimal
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Date
	Time
	Timestamp
	// TimestampLTZ is TIMESTAMP WITH LOCAL TIME ZONE: an instant, shown in the session's zone.
	TimestampLTZ
	// IntervalMonth is INTERVAL YEAR TO MONTH, IntervalSecond INTERVAL DAY TO SECOND, whatever the units written.
	IntervalMonth
	IntervalSecond
	Array
	Multiset
	Map
	Row
)

// Bounds of the parameters.
const (
	// MaxLength is the length of STRING and BYTES.
	MaxLength = 1<<31 - 1
	// MaxPrecision is that of decimals, MaxFraction that of times.
	MaxPrecision = 38
	MaxFraction  = 9
)

// Type is a type of SQL. The zero Type is none.
type Type struct {
	Root Root
	// Nullable says that values may be missing.
	Nullable bool
	// Length is the length of CHAR, VARCHAR, BINARY and VARBINARY; the precision of DECIMAL, TIME and both TIMESTAMPs, and of the seconds of
	// INTERVAL DAY TO SECOND.
	Length int
	// Scale is that of DECIMAL.
	Scale int
	// Units is how an interval's fields are written, such as "DAY TO SECOND"; "" is YEAR TO MONTH or DAY TO SECOND.
	Units string
	// Of holds the element of ARRAY and MULTISET, key and value of MAP, and the fields of ROW.
	Of []Type
	// Names are the names of a ROW's fields.
	Names []string
}

// Of returns a nullable type of a root without parameters.
func Of(r Root) Type { return Type{Root: r, Nullable: true} }

// String is STRING, Bytes is BYTES; both are nullable.
func String() Type { return Type{Root: Varchar, Nullable: true, Length: MaxLength} }

// Bytes is BYTES, nullable.
func Bytes() Type { return Type{Root: Varbinary, Nullable: true, Length: MaxLength} }

// Sized returns a nullable type of that length or precision.
func Sized(r Root, length int) Type { return Type{Root: r, Nullable: true, Length: length} }

// DecimalOf returns DECIMAL(precision, scale), nullable.
func DecimalOf(precision, scale int) Type {
	return Type{Root: Decimal, Nullable: true, Length: precision, Scale: scale}
}

// ArrayOf returns ARRAY<elem>, nullable.
func ArrayOf(elem Type) Type { return Type{Root: Array, Nullable: true, Of: []Type{elem}} }

// MultisetOf returns MULTISET<elem>, nullable.
func MultisetOf(elem Type) Type { return Type{Root: Multiset, Nullable: true, Of: []Type{elem}} }

// MapOf returns MAP<key, value>, nullable.
func MapOf(key, value Type) Type { return Type{Root: Map, Nullable: true, Of: []Type{key, value}} }

// RowOf returns ROW<names types>, nullable.
func RowOf(names []string, types []Type) Type {
	return Type{Root: Row, Nullable: true, Of: types, Names: names}
}

// WithNull returns t, nullable or not.
func (t Type) WithNull(nullable bool) Type {
	t.Nullable = nullable
	return t
}

// Equal reports whether t and u are the same, nullability included.
func (t Type) Equal(u Type) bool { return t.Nullable == u.Nullable && t.Same(u) }

// Same reports whether t and u are the same but for the nullability of the outermost type. How an interval's units are written does not count.
func (t Type) Same(u Type) bool {
	return t.Root == u.Root && t.Length == u.Length && t.Scale == u.Scale && slices.Equal(t.Names, u.Names) &&
		slices.EqualFunc(t.Of, u.Of, Type.Equal)
}

// Is reports whether t's root is one of roots.
func (t Type) Is(roots ...Root) bool { return slices.Contains(roots, t.Root) }

// Text reports whether t is CHAR or VARCHAR.
func (t Type) Text() bool { return t.Root == Char || t.Root == Varchar }

// Bin reports whether t is BINARY or VARBINARY.
func (t Type) Bin() bool { return t.Root == Binary || t.Root == Varbinary }

// Integer reports whether t is one of the four integers.
func (t Type) Integer() bool { return t.Root >= TinyInt && t.Root <= BigInt }

// Approximate reports whether t is FLOAT or DOUBLE.
func (t Type) Approximate() bool { return t.Root == Float || t.Root == Double }

// Numeric reports whether t is a number.
func (t Type) Numeric() bool { return t.Root >= Decimal && t.Root <= Double }

// Temporal reports whether t is a date, a time or a timestamp.
func (t Type) Temporal() bool { return t.Root >= Date && t.Root <= TimestampLTZ }

// Interval reports whether t is an interval.
func (t Type) Interval() bool { return t.Root == IntervalMonth || t.Root == IntervalSecond }

var rootNames = [...]string{Null: "NULL", Char: "CHAR", Varchar: "VARCHAR", Boolean: "BOOLEAN", Binary: "BINARY", Varbinary: "VARBINARY", Decimal: "DECIMAL",
	TinyInt: "TINYINT", SmallInt: "SMALLINT", Int: "INT", BigInt: "BIGINT", Float: "FLOAT", Double: "DOUBLE", Date: "DATE", Time: "TIME",
	Timestamp: "TIMESTAMP", TimestampLTZ: "TIMESTAMP_LTZ", IntervalMonth: "INTERVAL", IntervalSecond: "INTERVAL", Array: "ARRAY", Multiset: "MULTISET", Map: "MAP", Row: "ROW"}

// String returns the root's name.
func (r Root) String() string {
	if r == 0 || int(r) >= len(rootNames) {
		return fmt.Sprintf("root(%d)", uint8(r))
	}
	return rootNames[r]
}

// String writes the type as Flink summarises it: "DECIMAL(10, 2) NOT NULL".
func (t Type) String() string {
	var b strings.Builder
	b.WriteString(t.bare())
	if !t.Nullable && t.Root != Null {
		b.WriteString(" NOT NULL")
	}
	return b.String()
}

func (t Type) bare() string {
	switch t.Root {
	case Char, Binary:
		return fmt.Sprintf("%v(%d)", t.Root, t.Length)
	case Varchar:
		if t.Length == MaxLength {
			return "STRING"
		}
		return fmt.Sprintf("VARCHAR(%d)", t.Length)
	case Varbinary:
		if t.Length == MaxLength {
			return "BYTES"
		}
		return fmt.Sprintf("VARBINARY(%d)", t.Length)
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Length, t.Scale)
	case Time, Timestamp, TimestampLTZ:
		return fmt.Sprintf("%v(%d)", t.Root, t.Length)
	case IntervalMonth:
		return "INTERVAL " + or(t.Units, "YEAR(2) TO MONTH")
	case IntervalSecond:
		return "INTERVAL " + or(t.Units, "DAY(2) TO SECOND(3)")
	case Array, Multiset:
		return fmt.Sprintf("%v<%v>", t.Root, t.Of[0])
	case Map:
		return fmt.Sprintf("MAP<%v, %v>", t.Of[0], t.Of[1])
	case Row:
		fields := make([]string, len(t.Of))
		for i, f := range t.Of {
			fields[i] = fmt.Sprintf("`%s` %v", strings.ReplaceAll(t.Names[i], "`", "``"), f)
		}
		return "ROW<" + strings.Join(fields, ", ") + ">"
	}
	return t.Root.String()
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
