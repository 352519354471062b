package window

import (
	"fmt"
	"math"
	"testing"
)

func TestEvictors(t *testing.T) {
	far := func(row, last int) float64 { return math.Abs(float64(row - last)) }
	byCount := Global().Trigger(OnCount(2))
	for _, c := range []struct {
		name         string
		spec         Spec
		script, want string
	}{
		{"the last 3, fired every 2, is a sliding count window", byCount.Evictor(KeepLast(3)), "1@0 2@0 4@0 8@0 16@0 32@0", "2@0: global 3 | 8@0: global 14 | 32@0: global 56"},
		{"after the function: it sees what came since as well", byCount.Evictor(KeepLast(1).After()), "1@0 2@0 4@0 8@0", "2@0: global 3 | 8@0: global 14"},
		{"keeping none leaves rows for the function, if after", byCount.Evictor(KeepLast(0).After()), "1@0 2@0 4@0 8@0", "2@0: global 3 | 8@0: global 12"},
		{"less than 10 older than the newest", byCount.Evictor(KeepWithin(ms(10))), "1@0 2@10", "2@10: global 2"},
		{"9 older is kept", byCount.Evictor(KeepWithin(ms(10))), "1@1 2@10", "2@10: global 3"},
		{"the newest need not be the last", byCount.Evictor(KeepWithin(ms(10))), "1@20 2@5", "2@5: global 1"},
		{"evicted rows stay away", byCount.Evictor(KeepWithin(ms(10))), "1@0 2@10 4@11 8@12", "2@10: global 2 | 8@12: global 14"},
		{"near to the last arrival: below the threshold", byCount.Evictor(KeepNear(5, far)), "1@0 6@0 4@0 9@0", "6@0: global 6 | 9@0: global 15"},
		{"with sessions", Session(ms(10)).Evictor(KeepLast(2)), "1@0 2@15 4@7 wm=99", "wm=99: [0,25) 6"},
		{"of the user's own", byCount.Evictor(EvictWith("odd", func(e *Elements[int], _ Moment) {
			e.Keep(func(row int, _ int64) bool { return row%2 == 1 })
		})), "1@0 2@0 3@0 4@0", "2@0: global 1 | 4@0: global 4"},
	} {
		if got, _ := play(t, c.spec, c.script); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.name, c.script, got, c.want)
		}
	}
}

func TestElements(t *testing.T) {
	e := Elements[string]{Rows: []string{"a", "b", "c", "d"}, Times: []int64{1, 2, 3, 4}}
	all := e.Rows
	e.Keep(func(row string, ts int64) bool { return row != "b" && ts != 4 })
	if got := fmt.Sprint(e.Rows, e.Times); got != "[a c] [1 3]" {
		t.Errorf("Keep leaves %s", got)
	}
	if all[2] != "" || all[3] != "" {
		t.Errorf("Keep holds on to removed rows: %q", all)
	}
	e.DropFirst(-1)
	e.DropFirst(1)
	e.DropFirst(7)
	if len(e.Rows)+len(e.Times) != 0 {
		t.Errorf("DropFirst leaves %v", e)
	}
}
