package task

import (
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/event"
)

// The queues hold one batch each and are filled beyond that, so the channels take turns event by event, which makes the
// order of what the task reads certain: first event of channel 0, first of channel 1, second of channel 0, ...
func TestBarriers(t *testing.T) {
	cases := []struct {
		name     string
		channels []string
		want     string
	}{
		{"one channel needs no alignment", []string{"1 b1 2 b2 3 end"}, "[1] b1 [2] b2 [3] wmax end"},
		{"rows behind a barrier wait for the other channel's", []string{"1 b1 2 end", "11 12 13 b1 14 end"},
			"[1,11,12,13] b1 [2,14] wmax end"},
		{"an ended channel counts as one whose barrier has come", []string{"1 end", "11 12 b1 13 end"}, "[1,11,12] b1 [13] wmax end"},
		{"the end of a channel completes an alignment", []string{"b1 1 end", "11 12 end"}, "[11,12] b1 [1] wmax end"},
		{"a newer epoch replaces one that was given up", []string{"b1 1 b2 2 end", "11 b2 12 end"}, "[11,1] b2 [12,2] wmax end"},
		{"a barrier of a replaced epoch is forgotten", []string{"b1 1 end", "b2 11 b3 end", "21 b1 22 b2 23 b3 end"},
			"[21,1,22] b2 [11,23] b3 wmax end"},
		{"watermarks behind a barrier wait too", []string{"w5 b1 w9 1 end", "w4 b1 w8 2 end"}, "w4 b1 w8 [1,2] wmax end"},
		{"an unaligned barrier overtakes rows and keeps its flag", []string{"1 2 3 B1 4 end"}, "B1 [1,2,3,4] wmax end"},
		{"and barriers that were given up", []string{"1 b1 2 B2 3 end"}, "B2 [1,2,3] wmax end"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.open(len(c.channels))
			p := &probe{name: "p"}
			r.build(make([]int, len(c.channels)), []Op{{Name: "p", Make: made(p), Outputs: []Output{r.edge("")}}}, func(cfg *Config) {
				cfg.BufferTimeout = -1 // so that rows gather until something else must go out
			})
			for ch, script := range c.channels {
				r.send(ch, script)
			}
			r.start()
			if err := r.wait(); err != nil {
				t.Fatal(err)
			}
			if got := r.got(0); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// The order of things at the end of a chain of two operators behind two inputs.
func TestOrderAtTheEnd(t *testing.T) {
	r := newRig(t)
	r.open(3)
	log := &transcript{}
	a, b := &probe{name: "a", log: log}, &probe{name: "b", log: log}
	r.build([]int{0, 1, 1}, []Op{
		{Name: "a", Make: made(a), Next: []Next{{To: 1}}},
		{Name: "b", Make: made(b), Outputs: []Output{r.edge("")}},
	}, nil)
	r.send(0, "1 wmax end")
	r.send(1, "2 w6 end")
	r.send(2, "3 w7 b1 end")
	r.start()
	if err := r.wait(); err != nil {
		t.Fatal(err)
	}
	want := "b:open a:open " + // consumers first, so that a may emit while it opens
		"a:process0[1] b:process0[1] a:process1[2] b:process0[2] a:process1[3] b:process0[3] " +
		"a:watermark6 b:watermark6 " + // of max, 6 and 7
		"a:end0 " +
		"a:watermark7 b:watermark7 " + // channel 1 has ended
		"a:snapshot1 b:snapshot1 " + // both others have ended
		"a:watermarkmax b:watermarkmax a:end1 a:finish b:end0 b:finish a:close b:close"
	if got := log.String(); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if got, want := r.got(0), "[1,2,3] w7 b1 wmax end"; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

func TestIdleness(t *testing.T) {
	cases := []struct {
		name     string
		channels []string
		want     string
	}{
		{"one idle channel holds nothing back", []string{"idle 1 end", "w5 2 w6 3 end"}, "w5 [1,2] w6 [3] wmax end"},
		{"all idle", []string{"w3 idle 1 active 2 end", "w5 idle 3 4 end"}, "w5 idle [1,3] active [4,2] wmax end"},
		{"an end wakes an idle task for the final watermark", []string{"idle 1 end"}, "idle [1] wmax end"},
		// The queue drops an "active" in front of a watermark, which says as much.
		{"a watermark wakes an idle channel", []string{"idle 1 active w7 2 end"}, "idle [1] w7 [2] wmax end"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.open(len(c.channels))
			r.build(make([]int, len(c.channels)), []Op{
				{Name: "p", Make: made(&probe{}), Next: []Next{{To: 1}}},
				{Name: "q", Make: made(&probe{}), Outputs: []Output{r.edge("")}},
			}, func(cfg *Config) { cfg.BufferTimeout = -1 })
			for ch, script := range c.channels {
				r.send(ch, script)
			}
			r.start()
			if err := r.wait(); err != nil {
				t.Fatal(err)
			}
			if got := r.got(0); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// An operator with four consumers (two in the chain, one outside, one of a side output) and a side output that nobody reads.
func TestFanOut(t *testing.T) {
	r := newRig(t)
	r.open(1)
	log := &transcript{}
	head := &probe{name: "head", side: "late"}
	narrow := &probe{name: "narrow", log: log}
	r.build([]int{0}, []Op{
		{Name: "head", Make: made(head), Next: []Next{{To: 1}, {To: 2}, {To: 3, Side: "late"}}, Outputs: []Output{r.edge(""), r.edge("late")}},
		{Name: "narrow", Make: made(narrow)},
		{Name: "wide", Make: made(&probe{name: "wide", log: log, side: "unread"}), Outputs: []Output{r.edge("")}},
		{Name: "side", Make: made(&probe{name: "side", log: log})},
	}, nil)
	b := r.pool.Get()
	for i := range int64(6) {
		b.Append(i, i)
	}
	b.Live = append(b.Scratch(), 1, 3, 4)
	if err := r.sends[0].Send(event.OfBatch(b)); err != nil {
		t.Fatal(err)
	}
	r.send(0, "end")
	r.start()
	if err := r.wait(); err != nil {
		t.Fatal(err)
	}
	for edge, want := range []string{"[1,3,4] wmax end", "[1,3,4] wmax end", "[1,3,4] wmax end"} {
		if got := r.got(edge); got != want {
			t.Errorf("edge %d: %s, want %s", edge, got, want)
		}
	}
	want := "narrow:open side:process0[1,3,4] narrow:process0[1,3,4] wide:process0[1,3,4]"
	got := log.String()
	for _, line := range strings.Fields(want)[1:] {
		if !strings.Contains(got, line) {
			t.Errorf("%s is missing in %s", line, got)
		}
	}
	counts := r.task.Counts()
	for i, want := range []struct{ in, out, unread int64 }{{3, 3, 0}, {3, 3, 0}, {3, 3, 3}, {3, 3, 0}} {
		c := counts[i]
		if c.RowsIn.Load() != want.in || c.RowsOut.Load() != want.out || c.Unread.Load() != want.unread {
			t.Errorf("operator %d: %d rows in, %d out, %d unread, want %v", i, c.RowsIn.Load(), c.RowsOut.Load(), c.Unread.Load(), want)
		}
	}
}
