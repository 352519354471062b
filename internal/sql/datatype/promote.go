package datatype

// DecimalOfInteger returns the DECIMAL that holds all values of an integer type.
func DecimalOfInteger(t Type) Type {
	digits := map[Root]int{TinyInt: 3, SmallInt: 5, Int: 10, BigInt: 19}[t.Root]
	return DecimalOf(digits, 0).WithNull(t.Nullable)
}

// Common returns the type that values of a and b have together: in a comparison, a CASE, a UNION. ok is false if there is none. The
// result is nullable if one of them is.
func Common(a, b Type) (t Type, ok bool) {
	null := a.Nullable || b.Nullable
	switch {
	case a.Root == Null:
		return b.WithNull(true), true
	case b.Root == Null:
		return a.WithNull(true), true
	case a.Same(b):
		return a.WithNull(null), true
	case a.Numeric() && b.Numeric():
		return commonNumber(a, b).WithNull(null), true
	case a.Text() && b.Text():
		return commonSized(a, b, Char, Varchar).WithNull(null), true
	case a.Bin() && b.Bin():
		return commonSized(a, b, Binary, Varbinary).WithNull(null), true
	case a.Root == b.Root:
		return commonSame(a, b, null)
	case a.Temporal() && b.Temporal() && a.Root != Time && b.Root != Time:
		return commonTime(a, b).WithNull(null), true
	}
	return Type{}, false
}

func commonNumber(a, b Type) Type {
	if a.Root > b.Root {
		a, b = b, a
	}
	switch {
	case b.Integer() && a.Integer():
		return b
	case b.Root == Double:
		return b
	case b.Root == Float:
		if a.Root == Decimal {
			return Of(Double)
		}
		return b
	}
	if a.Integer() {
		a = DecimalOfInteger(a)
	}
	if b.Integer() {
		b = DecimalOfInteger(b)
	}
	scale := max(a.Scale, b.Scale)
	whole := max(a.Length-a.Scale, b.Length-b.Scale)
	if whole+scale > MaxPrecision {
		scale = max(MaxPrecision-whole, 0)
	}
	return DecimalOf(min(whole+scale, MaxPrecision), scale)
}

// commonSized is fixed only if both are, and of one length.
func commonSized(a, b Type, fixed, variable Root) Type {
	if a.Root == fixed && b.Root == fixed && a.Length == b.Length {
		return a
	}
	return Sized(variable, max(a.Length, b.Length))
}

func commonTime(a, b Type) Type {
	if a.Root == TimestampLTZ || b.Root == TimestampLTZ {
		return Sized(TimestampLTZ, max(a.Length, b.Length))
	}
	return Sized(Timestamp, max(a.Length, b.Length))
}

// commonSame is for two types of one root that differ in their parameters.
func commonSame(a, b Type, null bool) (Type, bool) {
	switch a.Root {
	case Time, Timestamp, TimestampLTZ, IntervalSecond:
		a.Length = max(a.Length, b.Length)
	case Array, Multiset, Map, Row:
		if len(a.Of) != len(b.Of) {
			return Type{}, false
		}
		of := make([]Type, len(a.Of))
		for i := range of {
			var ok bool
			if of[i], ok = Common(a.Of[i], b.Of[i]); !ok {
				return Type{}, false
			}
		}
		a.Of = of
	}
	return a.WithNull(null), true
}
