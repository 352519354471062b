package window

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// play runs a script of steps, separated by blanks, over a toy and returns what came out, a part a step that gave
// something: "5@12" is row 5 with time 12, "wm=15" a watermark, "now=30" the processing time.
func play(t *testing.T, s Spec, script string) (string, *toy[int]) {
	t.Helper()
	o := newToy(t, s, sum)
	var out []string
	for step := range strings.FieldsSeq(script) {
		var row int
		var at int64
		switch {
		case strings.HasPrefix(step, "wm="):
			fmt.Sscanf(step, "wm=%d", &at)
			o.advance(EventTime, at)
		case strings.HasPrefix(step, "now="):
			fmt.Sscanf(step, "now=%d", &at)
			o.advance(ProcessingTime, at)
		default:
			if n, err := fmt.Sscanf(step, "%d@%d", &row, &at); n != 2 {
				t.Fatalf("step %q: %v", step, err)
			}
			o.row(row, at)
		}
		if got := o.take(); got != "" {
			out = append(out, step+": "+got)
		}
	}
	return strings.Join(out, " | "), o
}

func TestTriggers(t *testing.T) {
	ten := Tumbling(ms(10))
	far := func(last, row int) float64 { return math.Abs(float64(row - last)) }
	for _, c := range []struct {
		name         string
		spec         Spec
		script, want string
	}{
		{"fires at MaxTimestamp, not before", ten, "1@0 2@9 wm=8 wm=9", "wm=9: [0,10) 3"},
		{"with an offset the trigger follows the edge (P16)", ten.Offset(ms(3)), "1@2 2@4 wm=1 wm=2 wm=3", "wm=2: [-7,3) 1"},
		{"a row beyond the lateness is in no window (P19)", ten, "wm=15 1@3 2@16 wm=99", "wm=99: [10,20) 2"},
		{"a late row fires again with the total", ten.AllowedLateness(ms(5)), "1@0 wm=9 2@1 4@2 wm=13 8@3 wm=14 16@4", "wm=9: [0,10) 1 | 2@1: [0,10) 3 | 4@2: [0,10) 7 | 8@3: [0,10) 15"},
		{"rows come after the watermark passed, within lateness, into a new window", ten.AllowedLateness(ms(5)), "wm=12 1@3", "1@3: [0,10) 1"},
		{"lateness beyond the end of time", ten.AllowedLateness(math.MaxInt64 / 1000000 * 1000000), "1@0 wm=9 2@0", "wm=9: [0,10) 1 | 2@0: [0,10) 3"},

		{"processing time: the row's own time counts for nothing", ten.ProcessingTime(), "now=5 1@77 now=8 2@-3 now=9", "now=9: [0,10) 3"},
		{"processing time: the watermark counts for nothing", ten.ProcessingTime(), "now=5 wm=100 1@0 now=10 2@0 now=19", "now=10: [0,10) 1 | now=19: [10,20) 2"},

		{"count keeps the content", ten.Trigger(OnCount(2)), "1@0 2@1 4@2 8@3 wm=20", "2@1: [0,10) 3 | 8@3: [0,10) 15"},
		{"count, purging", ten.Trigger(Purging(OnCount(2))), "1@0 2@1 4@2 8@3 16@4 wm=20", "2@1: [0,10) 3 | 8@3: [0,10) 12"},
		{"purging event time: a late row is alone", ten.AllowedLateness(ms(5)).Trigger(Purging(OnEventTime())), "1@0 wm=9 2@1", "wm=9: [0,10) 1 | 2@1: [0,10) 2"},
		{"global with count and purge is a count window", Global().Trigger(Purging(OnCount(3))), "1@5 2@-7 4@0 8@0", "4@0: global 7"},
		{"global fires at the end of the input by event time", Global().Trigger(OnEventTime()), "1@5 2@6 wm=1000 wm=9223372036854775807", "wm=9223372036854775807: global 3"},
		{"never", Global().Trigger(Never()), "1@5 wm=9223372036854775807", ""},

		{"delta counts from the first row, then from the last firing", Global().Trigger(OnDelta(5, far)), "1@0 4@0 6@0 7@0 12@0 13@0", "7@0: global 18 | 13@0: global 43"},
		{"delta, purging", Global().Trigger(Purging(OnDelta(5, far))), "1@0 7@0 8@0 13@0", "7@0: global 8 | 13@0: global 21"},

		{"every 4 of event time: at multiples of 4 above the first row, and at the end", ten.Trigger(EveryEventTime(ms(4))), "1@1 wm=3 wm=4 2@5 wm=8 wm=9 wm=30", "wm=4: [0,10) 1 | wm=8: [0,10) 3 | wm=9: [0,10) 3"},
		{"one jump of the watermark fires each multiple", ten.Trigger(EveryEventTime(ms(4))), "1@1 wm=30", "wm=30: [0,10) 1; [0,10) 1; [0,10) 1"},
		{"every 4 before 1970: floor", ten.Trigger(EveryEventTime(ms(4))), "1@-7 wm=-5 wm=-4 wm=-1", "wm=-4: [-10,0) 1 | wm=-1: [-10,0) 1"},
		{"every 4, behind the end: each late row", ten.AllowedLateness(ms(9)).Trigger(EveryEventTime(ms(4))), "1@1 wm=9 2@2", "wm=9: [0,10) 1; [0,10) 1; [0,10) 1 | 2@2: [0,10) 3"},

		{"every 4 of processing time, in processing time: not behind the end", ten.ProcessingTime().Trigger(EveryProcessingTime(ms(4))), "now=1 1@0 now=4 now=7 now=8 now=9 now=30", "now=4: [0,10) 1 | now=8: [0,10) 1 | now=9: [0,10) 1"},
		{"every 4 of processing time over old data: the interval alone counts", ten.Trigger(EveryProcessingTime(ms(4))), "now=1001 1@0 now=1003 now=1004 2@0 now=1008 wm=9 now=1020", "now=1004: [0,10) 1 | now=1008: [0,10) 3"},

		{"early results, then the result, then late ones", ten.AllowedLateness(ms(9)).Trigger(OnEventTime().Early(OnCount(2)).Late(OnCount(2))), "1@0 2@1 4@2 wm=9 8@3 16@4 wm=18 32@5",
			"2@1: [0,10) 3 | wm=9: [0,10) 7 | 16@4: [0,10) 31"},
		{"early results by the clock end with the window", ten.AllowedLateness(ms(9)).Trigger(OnEventTime().Early(EveryProcessingTime(ms(100)))), "now=5 1@0 now=100 wm=9 now=200 now=300 2@1",
			"now=100: [0,10) 1 | wm=9: [0,10) 1 | 2@1: [0,10) 3"},
		{"late results by the clock", ten.AllowedLateness(ms(9)).Trigger(OnEventTime().Late(EveryProcessingTime(ms(100)))), "now=5 1@0 wm=9 2@1 4@2 now=100 wm=18 now=200",
			"wm=9: [0,10) 1 | now=100: [0,10) 7"},

		{"timeout: 5 after the first row", Global().Trigger(Timeout(OnCount(3), ms(5))), "now=10 1@0 now=12 2@0 now=14 now=15 4@0 8@0 16@0 now=40", "now=15: global 3 | 16@0: global 31"},
		{"timeout that each row extends", Global().Trigger(Timeout(OnCount(9), ms(5), ExtendAtRow())), "now=10 1@0 now=12 2@0 now=15 now=16 now=17", "now=17: global 3"},
		{"timeout that keeps the count: the third row fires all the same", Global().Trigger(Timeout(OnCount(3), ms(5), KeepAtTimeout())), "now=10 1@0 2@0 now=15 4@0", "now=15: global 3 | 4@0: global 7"},
		{"timeout of a purging trigger by time keeps the content", Global().Trigger(Timeout(Purging(OnCount(2)), ms(5))), "now=10 1@0 now=15 2@0 4@0", "now=15: global 1 | 4@0: global 7"},
		{"purging around timeout drops it", Global().Trigger(Purging(Timeout(OnCount(2), ms(5)))), "now=10 1@0 now=15 2@0 4@0", "now=15: global 1 | 4@0: global 6"},
	} {
		if got, _ := play(t, c.spec, c.script); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.name, c.script, got, c.want)
		}
	}
}

func TestSessionTriggers(t *testing.T) {
	ten := Session(ms(10))
	for _, c := range []struct {
		name         string
		spec         Spec
		script, want string
	}{
		{"rows within the gap", ten, "1@0 2@9 wm=17 wm=18", "wm=18: [0,19) 3"},
		{"exactly one gap apart is one session", ten, "1@0 2@10 wm=99", "wm=99: [0,20) 3"},
		{"one more is two", ten, "1@0 2@11 wm=99", "wm=99: [0,10) 1; [11,21) 2"},
		{"a row bridges two sessions, with the total of all (P23)", ten, "1@0 2@15 4@7 wm=99", "wm=99: [0,25) 7"},
		{"rows out of order, also before 1970", ten, "1@-5 2@-20 4@-12 wm=99", "wm=99: [-20,5) 7"},
		{"late row that bridges: behind the watermark once, no second firing by a timer (P18)", ten.AllowedLateness(ms(100)), "wm=30 1@5 2@12 wm=300", "1@5: [5,15) 1 | 2@12: [5,22) 3"},
		{"late row alone is dropped (P19)", ten, "wm=30 1@15 2@30 wm=99", "wm=99: [30,40) 2"},
		{"late row that reaches a live session is not late", ten, "1@25 wm=30 2@16 wm=99", "wm=99: [16,35) 3"},
		{"counts of merged sessions add up", ten.Trigger(OnCount(4)), "1@0 2@0 4@15 8@7 wm=99", "8@7: [0,25) 15"},
		{"the earliest of the next firings stays", ten.Trigger(EveryEventTime(ms(4))), "1@0 2@6 wm=4 wm=8 wm=99", "wm=4: [0,16) 3 | wm=8: [0,16) 3 | wm=99: [0,16) 3; [0,16) 3"},
		{"early counts of merged sessions", ten.Trigger(OnEventTime().Early(OnCount(3))), "1@0 2@15 4@7 wm=99", "4@7: [0,25) 7 | wm=99: [0,25) 7"},
		{"in processing time", ten.ProcessingTime(), "now=0 1@9 now=8 2@9 now=16 now=17 4@0 now=26", "now=17: [0,18) 3 | now=26: [17,27) 4"},
		{"purging", ten.AllowedLateness(ms(50)).Trigger(Purging(OnEventTime())), "1@0 wm=9 2@5 wm=14 4@5", "wm=9: [0,10) 1 | wm=14: [0,15) 2 | 4@5: [0,15) 4"},
		{"each row has a gap of its own", SessionDynamic(func(row int) time.Duration { return ms(int64(row)) }), "3@0 10@4 1@8 wm=99", "wm=99: [0,3) 3; [4,14) 11"},
	} {
		got, o := play(t, c.spec, c.script)
		if got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.name, c.script, got, c.want)
		}
		if strings.Contains(c.script, "wm=300") && (len(o.sessions.Live) > 0 || len(o.timers) > 0) {
			t.Errorf("%s: left behind %v and %v", c.name, o.sessions.Live, o.timers)
		}
	}
}

// When all windows are over, no timer, state or row is left.
func TestNothingIsLeft(t *testing.T) {
	for _, s := range []Spec{
		Tumbling(ms(10)), Tumbling(ms(10)).AllowedLateness(ms(30)), Sliding(ms(10), ms(3)), Session(ms(10)),
		Tumbling(ms(10)).Trigger(EveryEventTime(ms(4))), Session(ms(10)).Trigger(EveryEventTime(ms(4))), Session(ms(5)).Trigger(EveryProcessingTime(ms(4))),
		Tumbling(ms(10)).Trigger(OnCount(3)), Tumbling(ms(10)).Trigger(Timeout(OnCount(3), ms(50))),
		Session(ms(10)).AllowedLateness(ms(20)).Trigger(OnEventTime().Early(EveryProcessingTime(ms(7))).Late(OnCount(2))),
	} {
		_, o := play(t, s, "now=3 1@0 2@7 1@18 wm=12 now=10 1@30 1@9 wm=35 4@36 1@34 now=20 wm=1000")
		rows := 0
		for _, e := range o.content {
			rows += len(e.Rows)
		}
		if len(o.timers)+len(o.cleanups)+len(o.states)+rows+len(o.sessions.Live) > 0 {
			t.Errorf("%s leaves timers %v, cleanups %v, states %v, %d rows, sessions %v", s, o.timers, o.cleanups, o.states, rows, o.sessions.Live)
		}
	}
}

func TestLateRows(t *testing.T) {
	_, o := play(t, Tumbling(ms(10)).AllowedLateness(ms(5)), "wm=20 1@4 2@10 4@9 8@5")
	// [0,10) is over at 9+5 = 14, [10,20) only at 24. All three rows of the first are beyond their lateness by themselves.
	if got := fmt.Sprint(o.late); got != "[1 4 8]" {
		t.Errorf("late rows are %s, want [1 4 8]", got)
	}
	_, o = play(t, Sliding(ms(3), ms(7)), "wm=20 1@26 2@25 4@12")
	// 25 and 26 fall into the gap [24, 28), ahead of the watermark; 12 falls into one behind it.
	if got := fmt.Sprint(o.late); got != "[4]" {
		t.Errorf("late rows are %s, want [4]", got)
	}
}

// The row's own lateness counts where it is in no window at all: 12 is in the gap [10, 14) and may come until 12+5.
func TestLateRowInGap(t *testing.T) {
	spec := Sliding(ms(3), ms(7)).AllowedLateness(ms(5))
	if _, o := play(t, spec, "wm=16 1@12"); len(o.late) != 0 {
		t.Errorf("late at 16: %v", o.late)
	}
	if _, o := play(t, spec, "wm=17 1@12"); len(o.late) != 1 {
		t.Errorf("not late at 17: %v", o.late)
	}
}

// At the end of the window the early trigger has nothing more to do: its timers are gone before the lateness is over.
func TestEarlyEndsWithWindow(t *testing.T) {
	_, o := play(t, Tumbling(ms(10)).AllowedLateness(ms(9)).Trigger(OnEventTime().Early(EveryProcessingTime(ms(100)))), "now=5 1@0 wm=9")
	if len(o.timers) != 0 {
		t.Errorf("timers left: %v", o.timers)
	}
}

type evenTrigger struct{ neverTrigger[int] }

func (evenTrigger) OnElement(row int, _ int64, _ Window, ctx Context[int]) Result {
	ctx.State().Set(3, int64(row))
	if row%2 == 0 {
		return FireAndPurge
	}
	return Continue
}

func TestCustomTrigger(t *testing.T) {
	even := Custom[int]("even", evenTrigger{})
	if got, _ := play(t, Session(ms(10)).Trigger(even), "1@0 2@1 5@2 4@3"); got != "2@1: [0,11) 3 | 4@3: [0,13) 9" {
		t.Error(got)
	}
	if _, err := Bind[string](Tumbling(ms(1)).Trigger(even)); err == nil || !strings.Contains(err.Error(), "is for rows of type int, and the stream has string") {
		t.Errorf("binding to strings: %v", err)
	}
}
