package rpc_test

import (
	"encoding/hex"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/rpc/rpctest"
)

func TestWireRoundTrip(t *testing.T) {
	for _, want := range rpctest.Samples() {
		b := rpc.AppendMessage([]byte("x"), want)[1:]
		got, err := rpc.ParseMessage(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%T: got %+v %+v, %v", want.Body, got, got.Body, err)
		}
		for n := range b { // cut off anywhere
			if _, err := rpc.ParseMessage(b[:n]); errs.CodeOf(err) != errs.CodeWire {
				t.Errorf("%T cut to %d of %d bytes: %v", want.Body, n, len(b), err)
			}
		}
		if _, err := rpc.ParseMessage(append(b, 0)); errs.CodeOf(err) != errs.CodeWire {
			t.Errorf("%T with a byte too many: %v", want.Body, err)
		}
	}
}

// TestWireBytes holds the encoding to what docs/format/control.md says, worked out by hand.
func TestWireBytes(t *testing.T) {
	var job ids.JobID
	job[0], job[15] = 0xaa, 0xbb
	for _, c := range []struct {
		name string
		body rpc.Body
		want string
	}{
		{"start: no fields", &rpc.Start{}, "0221" + "aa0000000000000000000000000000bb" + "ac02" + "01"},
		{"align to: zigzag numbers", &rpc.AlignTo{Vertex: 1, Op: 0, Max: -3, Slowest: -1, SlowestMax: 64}, "0223" + "aa0000000000000000000000000000bb" + "ac02" + "01" + "02" + "00" + "05" + "01" + "8001"},
		{"shutdown with a failure", &rpc.Shutdown{Failure: errs.New("a.b", errs.ClassUser, "o", "m")},
			"0226" + "aa0000000000000000000000000000bb" + "ac02" + "01" + "01" + "03612e62" + "04" + "016f" + "016d"},
		{"trigger: uvarint epoch, flags, tasks", &rpc.CheckpointTrigger{Epoch: 200, Purpose: 1, Drain: true, SwitchIn: 3, Tasks: []ids.TaskID{{Vertex: 2, Subtask: 1, Attempt: 4}}},
			"0227" + "aa0000000000000000000000000000bb" + "ac02" + "01" + "c801" + "01" + "00" + "01" + "06" + "00" + "01" + "040208"},
	} {
		got := hex.EncodeToString(rpc.AppendMessage(nil, rpc.Message{Job: job, Generation: 300, Term: 1, Body: c.body}))
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestWireFailure: behind the wire the causes of an error are text.
func TestWireFailure(t *testing.T) {
	e := &errs.Error{Code: errs.CodeIO, Class: errs.ClassFailTask, Op: "out", Msg: "cannot write", Err: io.ErrShortWrite}
	m, err := rpc.ParseMessage(rpc.AppendMessage(nil, rpc.Message{Body: &rpc.Shutdown{Failure: e}}))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Body.(*rpc.Shutdown).Failure; got.Error() != e.Error() || got.Code != e.Code || got.Class != e.Class || got.Op != e.Op {
		t.Errorf("got %#v", got)
	}
	if e.Msg != "cannot write" {
		t.Error("sending an error has changed it")
	}
	if got := rpc.FailureOf(errors.New("boom")); got.Code != errs.CodeUserFunction || got.Class != errs.ClassFailTask {
		t.Errorf("a user's error became %#v", got)
	}
}

func TestWireVersion(t *testing.T) {
	b := rpc.AppendMessage(nil, rpc.Message{Body: &rpc.Start{}})
	b[0] = 9
	if _, err := rpc.ParseMessage(b); err == nil || !strings.Contains(err.Error(), "same binary") {
		t.Errorf("a message of another version: %v", err)
	}
}

func FuzzParseMessage(f *testing.F) {
	for _, m := range rpctest.Samples() {
		f.Add(rpc.AppendMessage(nil, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := rpc.ParseMessage(b)
		runtime.ReadMemStats(&after)
		// The largest element for its bytes is a list of empty counters and operators: below 64 bytes for one.
		if got := after.TotalAlloc - before.TotalAlloc; got > 64*uint64(len(b))+64<<10 {
			t.Fatalf("%d bytes of input took %d of memory", len(b), got)
		}
		if err != nil {
			return
		}
		again, err := rpc.ParseMessage(rpc.AppendMessage(nil, m))
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("%+v came back as %+v, %v", m.Body, again.Body, err)
		}
	})
}

// A master sends parts of one plan to all its workers at once: writing a message must leave it untouched. (The race detector
// is what looks.)
func TestMessageIsWrittenByManyAtOnce(t *testing.T) {
	d := &rpc.Deploy{Self: 1, Workers: []rpc.WorkerAddr{{Worker: "w"}}, Placement: [][]int32{{0, 1}}, Attempt: 1, Options: []rpc.Option{{Key: "k"}}}
	a := &rpc.SplitAssign{Splits: []rpc.Split{{ID: "s"}}, NoMore: true}
	f := &rpc.Shutdown{Failure: errs.New("a.b", errs.ClassUser, "o", "m")}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, b := range []rpc.Body{d, a, f} {
				rpc.AppendMessage(nil, rpc.Message{Body: b})
			}
		})
	}
	all.Wait()
	if !a.NoMore || d.Placement[0][1] != 1 {
		t.Error("writing has changed the message")
	}
}
