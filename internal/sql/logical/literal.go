package logical

import (
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
)

func literal(value any, of datatype.Type) *expr.Literal {
	return &expr.Literal{Value: value, Of: of.WithNull(value == nil)}
}

// number gives a number without point or exponent the smallest of INT, BIGINT and DECIMAL, one with a point DECIMAL, and one with an
// exponent DOUBLE.
func number(n *ast.NumberLit) (expr.Expr, error) {
	if strings.ContainsAny(n.Text, "eE") {
		f, err := strconv.ParseFloat(n.Text, 64)
		if err != nil {
			return nil, wrong(n, "the number %s does not fit DOUBLE", n.Text)
		}
		return literal(f, datatype.Of(datatype.Double)), nil
	}
	whole, fraction, point := strings.Cut(n.Text, ".")
	if !point {
		if i, err := strconv.ParseInt(whole, 10, 32); err == nil {
			return literal(i, datatype.Of(datatype.Int)), nil
		}
		if i, err := strconv.ParseInt(whole, 10, 64); err == nil {
			return literal(i, datatype.Of(datatype.BigInt)), nil
		}
	}
	digits := strings.TrimLeft(strings.TrimPrefix(whole, "-"), "0") + fraction
	if len(digits) > datatype.MaxPrecision {
		return nil, wrong(n, "the number %s has more than %d digits", n.Text, datatype.MaxPrecision)
	}
	unscaled, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return nil, wrong(n, "%s is no number", n.Text)
	}
	return literal(decimalValue(unscaled, max(len(digits), 1)), datatype.DecimalOf(max(len(digits), 1, len(fraction)), len(fraction))), nil
}

// decimalValue is the physical form of a decimal.
func decimalValue(x *big.Int, precision int) any {
	if precision <= datatype.CompactPrecision {
		return x.Int64()
	}
	return wide(x)
}

func wide(x *big.Int) column.Int128 {
	var lo, hi big.Int
	lo.And(x, new(big.Int).SetUint64(1<<64-1))
	hi.Rsh(x, 64)
	return column.Int128{Lo: lo.Uint64(), Hi: hi.Int64()}
}

func text(n *ast.StringLit) expr.Expr {
	return literal(n.Value, datatype.Sized(datatype.Char, max(utf8.RuneCountInString(n.Value), 0)))
}

func binary(n *ast.BinaryLit) (expr.Expr, error) {
	b, err := hex.DecodeString(n.Hex)
	if err != nil {
		return nil, wrong(n, "X'%s' is no binary literal", n.Hex)
	}
	return literal(b, datatype.Sized(datatype.Binary, len(b))), nil
}

// dateTime gives DATE, TIME and TIMESTAMP literals the precision that is written.
func dateTime(n *ast.DateTimeLit) (expr.Expr, error) {
	body, fraction, _ := strings.Cut(n.Text, ".")
	if len(fraction) > datatype.MaxFraction || strings.Trim(fraction, "0123456789") != "" {
		return nil, wrong(n, "'%s' has a fraction that is no number of at most %d digits", n.Text, datatype.MaxFraction)
	}
	layout := map[ast.DateTimeKind]string{ast.DateKind: "2006-1-2", ast.TimeKind: "15:4:5"}[n.Kind]
	if layout == "" {
		layout = "2006-1-2 15:4:5"
	}
	t, err := time.Parse(layout, body)
	if err != nil || n.Kind == ast.DateKind && fraction != "" {
		return nil, wrong(n, "'%s' is not written as in '%s'", n.Text, map[ast.DateTimeKind]string{ast.DateKind: "2024-02-29", ast.TimeKind: "12:34:56"}[n.Kind]+
			map[bool]string{true: "2024-02-29 12:34:56.789"}[n.Kind >= ast.TimestampKind])
	}
	nanos, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	switch n.Kind {
	case ast.DateKind:
		return literal(t.Unix()/86400-boolInt(t.Unix() < 0 && t.Unix()%86400 != 0), datatype.Of(datatype.Date)), nil
	case ast.TimeKind:
		ms := int64(t.Hour()*3600+t.Minute()*60+t.Second())*1000 + nanos/1e6
		return literal(ms, datatype.Sized(datatype.Time, min(len(fraction), 3))), nil
	}
	root := datatype.Timestamp
	if n.Kind == ast.TimestampLTZKind {
		root = datatype.TimestampLTZ
	}
	of := datatype.Sized(root, len(fraction))
	if of.Length > 6 {
		x := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1e9))
		return literal(wide(x.Add(x, big.NewInt(nanos))), of), nil
	}
	return literal(t.Unix()*of.Unit()+nanos/(1e9/of.Unit()), of), nil
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// unitMillis are the lengths of units of a DAY TO SECOND interval.
var unitMillis = map[ast.TimeUnit]int64{ast.UnitWeek: 7 * 86_400_000, ast.UnitDay: 86_400_000, ast.UnitHour: 3_600_000, ast.UnitMinute: 60_000, ast.UnitSecond: 1000}

// fieldsOf lists the units of a range, from the largest.
func fieldsOf(r *ast.IntervalRange) []ast.TimeUnit {
	if r.To == ast.UnitNone {
		return []ast.TimeUnit{r.From}
	}
	all := []ast.TimeUnit{ast.UnitYear, ast.UnitMonth, ast.UnitDay, ast.UnitHour, ast.UnitMinute, ast.UnitSecond}
	var out []ast.TimeUnit
	for _, u := range all {
		if u >= r.From && u <= r.To {
			out = append(out, u)
		}
	}
	return out
}

// interval gives an interval literal its months or milliseconds.
func interval(n *ast.IntervalLit) (expr.Expr, error) {
	fields := fieldsOf(n.Range)
	body, negative := strings.TrimSpace(n.Text), n.Negative
	if strings.HasPrefix(body, "-") {
		body, negative = body[1:], !negative
	}
	parts := strings.FieldsFunc(body, func(r rune) bool { return r == '-' || r == ':' || r == ' ' })
	if len(parts) != len(fields) {
		return nil, wrong(n, "the interval '%s' has %d parts; %s has %d", n.Text, len(parts), rangeText(n.Range), len(fields))
	}
	months, millis := int64(0), int64(0)
	for i, p := range parts {
		whole, fraction, _ := strings.Cut(p, ".")
		x, err := strconv.ParseInt(whole, 10, 64)
		if err != nil || fraction != "" && fields[i] != ast.UnitSecond {
			return nil, wrong(n, "'%s' is no number of %s", p, fields[i])
		}
		switch fields[i] {
		case ast.UnitYear:
			months += 12 * x
		case ast.UnitQuarter:
			months += 3 * x
		case ast.UnitMonth:
			months += x
		default:
			millis += x * unitMillis[fields[i]]
			if fraction != "" {
				f, err := strconv.ParseInt((fraction + "000")[:3], 10, 64)
				if err != nil {
					return nil, wrong(n, "'%s' is no number of seconds", p)
				}
				millis += f
			}
		}
	}
	if negative {
		months, millis = -months, -millis
	}
	return literal(months+millis, intervalType(n.Range).WithNull(false)), nil
}

func rangeText(r *ast.IntervalRange) string {
	if r.To == ast.UnitNone {
		return r.From.String()
	}
	return r.From.String() + " TO " + r.To.String()
}

func intervalType(r *ast.IntervalRange) datatype.Type {
	switch r.From {
	case ast.UnitYear, ast.UnitQuarter, ast.UnitMonth:
		return datatype.Of(datatype.IntervalMonth)
	}
	return datatype.Sized(datatype.IntervalSecond, 3)
}

// typeRoots are the types without parameters.
var typeRoots = map[ast.TypeKind]datatype.Root{ast.TypeBoolean: datatype.Boolean, ast.TypeTinyint: datatype.TinyInt, ast.TypeSmallint: datatype.SmallInt,
	ast.TypeInt: datatype.Int, ast.TypeBigint: datatype.BigInt, ast.TypeFloat: datatype.Float, ast.TypeDouble: datatype.Double, ast.TypeDate: datatype.Date}

// TypeOf gives a written type its meaning, with Flink's defaults: CHAR(1), VARCHAR(1), DECIMAL(10, 0), TIME(0), TIMESTAMP(6).
func TypeOf(t *ast.Type) (datatype.Type, error) {
	of, err := bareType(t)
	return of.WithNull(!t.NotNull), err
}

func bareType(t *ast.Type) (datatype.Type, error) {
	sized := func(root datatype.Root, otherwise, least, most int) (datatype.Type, error) {
		n := t.Length
		if n < 0 {
			n = otherwise
		}
		if n < least || n > most {
			return datatype.Type{}, wrong(t, "the %v(%d) has a length or precision that is not from %d to %d", root, n, least, most)
		}
		return datatype.Sized(root, n), nil
	}
	if root := typeRoots[t.Kind]; root != 0 {
		return datatype.Of(root), nil
	}
	switch t.Kind {
	case ast.TypeString:
		return datatype.String(), nil
	case ast.TypeBytes:
		return datatype.Bytes(), nil
	case ast.TypeChar:
		return sized(datatype.Char, 1, 1, datatype.MaxLength)
	case ast.TypeVarchar:
		return sized(datatype.Varchar, 1, 1, datatype.MaxLength)
	case ast.TypeBinary:
		return sized(datatype.Binary, 1, 1, datatype.MaxLength)
	case ast.TypeVarbinary:
		return sized(datatype.Varbinary, 1, 1, datatype.MaxLength)
	case ast.TypeTime:
		return sized(datatype.Time, 0, 0, datatype.MaxFraction)
	case ast.TypeTimestamp:
		return sized(datatype.Timestamp, 6, 0, datatype.MaxFraction)
	case ast.TypeTimestampLTZ:
		return sized(datatype.TimestampLTZ, 6, 0, datatype.MaxFraction)
	case ast.TypeInterval:
		return intervalType(t.Interval), nil
	case ast.TypeDecimal:
		of, err := sized(datatype.Decimal, 10, 1, datatype.MaxPrecision)
		if of.Scale = max(t.Scale, 0); err == nil && of.Scale > of.Length {
			err = wrong(t, "DECIMAL(%d, %d) has more digits behind the point than digits", of.Length, of.Scale)
		}
		return of, err
	}
	return nestedType(t)
}

func nestedType(t *ast.Type) (datatype.Type, error) {
	switch t.Kind {
	case ast.TypeArray, ast.TypeMultiset:
		elem, err := TypeOf(t.Elem)
		if t.Kind == ast.TypeArray {
			return datatype.ArrayOf(elem), err
		}
		return datatype.MultisetOf(elem), err
	case ast.TypeMap:
		key, err := TypeOf(t.Key)
		if err != nil {
			return datatype.Type{}, err
		}
		value, err := TypeOf(t.Elem)
		return datatype.MapOf(key, value), err
	case ast.TypeRow:
		var names []string
		var of []datatype.Type
		for _, f := range t.Fields {
			ft, err := TypeOf(f.Type)
			if err != nil {
				return datatype.Type{}, err
			}
			names, of = append(names, f.Name.Name), append(of, ft)
		}
		return datatype.RowOf(names, of), nil
	}
	return datatype.Type{}, wrong(t, "the type %v is not supported", t.Kind)
}
