package datatype_test

import (
	"testing"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/sql/datatype"
)

// The texts are what Flink 2.3 prints for these types.
func TestPrinted(t *testing.T) {
	for want, typ := range map[string]datatype.Type{
		"STRING":                             datatype.String(),
		"CHAR(6) NOT NULL":                   datatype.Sized(datatype.Char, 6).WithNull(false),
		"DECIMAL(10, 2) NOT NULL":            datatype.DecimalOf(10, 2).WithNull(false),
		"TIMESTAMP_LTZ(3)":                   datatype.Sized(datatype.TimestampLTZ, 3),
		"MAP<STRING NOT NULL, INT>":          datatype.MapOf(datatype.String().WithNull(false), datatype.Of(datatype.Int)),
		"ROW<`a` INT, `b``c` ARRAY<DOUBLE>>": datatype.RowOf([]string{"a", "b`c"}, []datatype.Type{datatype.Of(datatype.Int), datatype.ArrayOf(datatype.Of(datatype.Double))}),
	} {
		if got := typ.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestForms(t *testing.T) {
	for _, c := range []struct {
		typ  datatype.Type
		want column.Kind
	}{
		{datatype.DecimalOf(18, 2), column.Int64}, {datatype.DecimalOf(19, 2), column.Wide}, {datatype.Sized(datatype.Timestamp, 6), column.Int64},
		{datatype.Sized(datatype.Timestamp, 9), column.Wide}, {datatype.Of(datatype.Date), column.Int32}, {datatype.MultisetOf(datatype.String()), column.Map},
	} {
		if got := c.typ.Kind(); got != c.want {
			t.Errorf("%v has the form %v, want %v", c.typ, got, c.want)
		}
		if _, err := column.NewSchema(c.typ.Field("x")); err != nil {
			t.Error(err)
		}
	}
	if datatype.Of(datatype.Int).Equal(datatype.Of(datatype.Int).WithNull(false)) || !datatype.Of(datatype.Int).Same(datatype.Of(datatype.Int).WithNull(false)) {
		t.Error("nullability")
	}
}
