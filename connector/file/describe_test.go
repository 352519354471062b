package file

import (
	"testing"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/conntest"
)

func TestDescribeSplit(t *testing.T) {
	fs := conntest.NewFS(map[string]string{"a.csv": "n\n1\n22\n333\n"})
	d := JSON[struct{}]("a.csv").(connector.SplitDescriber)
	for _, c := range []struct {
		state splitState
		want  string
	}{
		{splitState{Version: splitVersion, Path: "a.csv", Size: 11, End: 11, Pos: 4}, "line 3 (byte 4) of a.csv"},
		{splitState{Version: splitVersion, Path: "a.csv", Size: 11, End: 11, Pos: 11}, "line 5 (byte 11) of a.csv"},
		{splitState{Version: splitVersion, Path: "a.csv", Size: 11, Start: 7, End: 11, Pos: -1}, "line 4 (byte 7) of a.csv"},
		{splitState{Version: splitVersion, Path: "a.csv", Size: 99, End: 99, Pos: 50}, "byte 50 of a.csv"},
		{splitState{Version: splitVersion, Path: "gone.csv", Size: 11, End: 11, Pos: 4}, "byte 4 of gone.csv"},
		{splitState{Version: splitVersion, Path: "a.csv.gz", Size: 11, End: 11, Pos: 4}, "byte 4 of the content of a.csv.gz"},
	} {
		s, err := c.state.split()
		if err != nil {
			t.Fatal(err)
		}
		if got := d.DescribeSplit(fs, s); got != c.want {
			t.Errorf("%+v is %q, want %q", c.state, got, c.want)
		}
	}
	if got := d.DescribeSplit(fs, connector.Split{ID: "x", State: []byte("{")}); got != "" {
		t.Errorf("damaged: %q", got)
	}
}
