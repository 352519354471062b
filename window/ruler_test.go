package window_test

import (
	"testing"
	"time"

	"github.com/weir-stream/weir/window"
)

func TestRuler(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		s    window.Spec
		want string
	}{
		{window.Tumbling(time.Hour), "panes of 1h0m0s"},
		{window.Sliding(time.Hour, 25*time.Minute), "panes of 5m0s"},
		{window.Sliding(2*time.Hour, 5*time.Minute), "panes of 5m0s"},
		{window.Tumbling(time.Hour).Offset(15 * time.Minute), "panes of 1h0m0s offset 15m0s"},
		{window.Tumbling(time.Hour).In(berlin), "panes of 1h0m0s in Europe/Berlin"},
		{window.Days(2).In(berlin), "panes of 2 days in Europe/Berlin"},
		{window.Weeks(1), "panes of 7 days from day 4"},
		{window.Months(3), "panes of 3 months"},
		{window.Days(1).Offset(6 * time.Hour), "panes of 1 days offset 6h0m0s"},
	} {
		b, err := window.Bind[int](c.s)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Grid.Ruler(); got != c.want {
			t.Errorf("%v has %q, want %q", c.s, got, c.want)
		}
	}
}
