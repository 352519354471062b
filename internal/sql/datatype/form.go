package datatype

import "github.com/weir-stream/weir/column"

// CompactPrecision is the highest precision of a decimal that is an int64.
const CompactPrecision = 18

// Kind returns the physical form of a type's values:
//
//	CHAR, VARCHAR                 String, CHAR with its blanks
//	BINARY, VARBINARY             Bytes
//	DECIMAL                       Int64 up to precision 18, Wide above: the unscaled value
//	DATE                          Int32, days since 1970
//	TIME                          Int32, milliseconds of the day
//	TIMESTAMP, TIMESTAMP_LTZ      since 1970: Int64 milliseconds up to precision 3, Int64 microseconds up to 6, Wide nanoseconds above
//	INTERVAL YEAR TO MONTH        Int32, months
//	INTERVAL DAY TO SECOND        Int64, milliseconds
//	ARRAY, MAP, ROW               List, Map, Struct
//	MULTISET                      Map from the element to its count, an Int32
//	NULL                          Bool, all missing
func (t Type) Kind() column.Kind {
	switch t.Root {
	case Char, Varchar:
		return column.String
	case Binary, Varbinary:
		return column.Bytes
	case Decimal:
		if t.Length > CompactPrecision {
			return column.Wide
		}
		return column.Int64
	case TinyInt:
		return column.Int8
	case SmallInt:
		return column.Int16
	case Int, Date, Time, IntervalMonth:
		return column.Int32
	case BigInt, IntervalSecond:
		return column.Int64
	case Float:
		return column.Float32
	case Double:
		return column.Float64
	case Timestamp, TimestampLTZ:
		if t.Length > 6 {
			return column.Wide
		}
		return column.Int64
	case Array:
		return column.List
	case Map, Multiset:
		return column.Map
	case Row:
		return column.Struct
	}
	return column.Bool
}

// Field describes a column of the type.
func (t Type) Field(name string) column.Field {
	f := column.Field{Name: name, Kind: t.Kind(), Nullable: t.Nullable}
	switch t.Root {
	case Array:
		f.Children = []column.Field{t.Of[0].Field("element")}
	case Multiset:
		f.Children = []column.Field{t.Of[0].Field("element"), Of(Int).WithNull(false).Field("count")}
	case Map:
		f.Children = []column.Field{t.Of[0].Field("key"), t.Of[1].Field("value")}
	case Row:
		for i, of := range t.Of {
			f.Children = append(f.Children, of.Field(t.Names[i]))
		}
	}
	return f
}

// Unit returns how many units of a TIME's or TIMESTAMP's physical form make a second.
func (t Type) Unit() int64 {
	switch {
	case t.Root == Time || t.Length <= 3:
		return 1e3
	case t.Length <= 6:
		return 1e6
	}
	return 1e9
}
