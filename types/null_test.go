package types_test

import (
	jsonv1 "encoding/json"
	"encoding/json/v2"
	"testing"

	"github.com/weir-stream/weir/types"
)

func TestNull(t *testing.T) {
	type row struct {
		A types.Null[int32]  `json:"a"`
		B types.Null[string] `json:"b,omitzero"`
	}
	for _, c := range []struct {
		name, text string
		row        row
	}{
		{"both", `{"a":7,"b":"x"}`, row{types.Some[int32](7), types.Some("x")}},
		{"null stays null, omitzero leaves it out", `{"a":null}`, row{}},
		{"zero is a value", `{"a":0,"b":""}`, row{types.Some[int32](0), types.Some("")}},
	} {
		got, err := json.Marshal(c.row)
		if err != nil || string(got) != c.text {
			t.Errorf("%s: marshal = %s, %v, want %s", c.name, got, err, c.text)
		}
		var back row
		if err := json.Unmarshal([]byte(c.text), &back); err != nil || back != c.row {
			t.Errorf("%s: unmarshal = %v, %v, want %v", c.name, back, err, c.row)
		}
		var v1 row
		if err := jsonv1.Unmarshal([]byte(c.text), &v1); err != nil || v1 != c.row {
			t.Errorf("%s: encoding/json = %v, %v, want %v", c.name, v1, err, c.row)
		}
	}
	var n types.Null[int32]
	if err := json.Unmarshal([]byte(`"x"`), &n); err == nil || n.Valid {
		t.Errorf("a string in a Null[int32] gives %v, %v", n, err)
	}
	if n.Or(5) != 5 || types.Some[int32](3).Or(5) != 3 || n.String() != "null" || types.Some(3).String() != "3" {
		t.Error("Or or String is wrong")
	}
}
