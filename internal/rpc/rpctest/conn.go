package rpctest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
)

// Samples returns one message of every type, with every field set to something that is not zero.
func Samples() []rpc.Message {
	task := ids.TaskID{Vertex: 3, Subtask: 1, Attempt: 2}
	op := rpc.OpRef{Task: task, Op: 4}
	failure := &errs.Error{Code: errs.CodeSink, Class: errs.ClassFailTask, Op: "out", Msg: "disk full"}
	bodies := []rpc.Body{
		&rpc.Hello{Worker: "w1", PID: 4711, DataAddr: "127.0.0.1:80", Fingerprint: "abc", Version: "v1"},
		&rpc.Deployed{},
		&rpc.DeployFailed{Failure: failure},
		&rpc.TaskPhase{Task: task, Phase: rpc.PhaseFailed, Failure: failure},
		&rpc.TaskPhase{Task: task, Phase: rpc.PhaseRunning},
		&rpc.SplitRequest{Source: op},
		&rpc.SourceProgress{Source: op, Watermark: math.MinInt64, Idle: true, Blocked: true},
		&rpc.Metrics{Operators: []rpc.OpMetrics{{Op: op, RowsIn: 1, RowsOut: 2, Late: 3, Bad: 4, Watermark: math.MaxInt64, Busy: time.Second, Idle: time.Minute,
			Backpressured: time.Hour, Counters: []rpc.Count{{Name: "dropped.late", Value: -1}}}}},
		&rpc.Side{Source: op, Seq: math.MaxUint64, Payload: []byte("rows")},
		&rpc.Heartbeat{},
		&rpc.TaskStacks{Tasks: []ids.TaskID{task}, Waited: time.Minute, Stacks: "goroutine 1"},
		&rpc.Goodbye{Reason: "end"},
		&rpc.Deploy{Self: 1, Workers: []rpc.WorkerAddr{{Worker: "w1", DataAddr: "a:1"}, {Worker: "w2", DataAddr: "a:2"}}, Placement: [][]int32{{0, 1}, nil, {1}},
			Attempt: 2, Options: []rpc.Option{{Key: "k", Value: "v"}}, Secret: []byte{7, 0}, Restore: rpc.Restore{Dir: "/sp/1", Manifest: "job/manifests/7"}},
		&rpc.Start{},
		&rpc.SplitAssign{Source: op, Splits: []rpc.Split{{ID: "file:0", State: []byte{0, 1}}, {ID: "file:1"}}, NoMore: true},
		&rpc.AlignTo{Vertex: 3, Op: 4, Max: -5, Slowest: -1, SlowestMax: 1 << 60},
		&rpc.SideAck{Source: op, Seq: 7},
		&rpc.Cancel{Reason: "asked"},
		&rpc.Shutdown{Failure: failure},
		&rpc.Shutdown{},
		&rpc.CheckpointTrigger{Epoch: 1 << 40, Purpose: 3, Unaligned: true, Drain: true, SwitchIn: time.Second, Target: "/sp/2", Tasks: []ids.TaskID{task, {Vertex: 1}}},
		&rpc.CheckpointAbort{Epoch: 9, Whole: true, Tasks: []ids.TaskID{task}},
		&rpc.CheckpointComplete{Epoch: 9, Stop: true, Tasks: []ids.TaskID{task}},
		&rpc.CheckpointAck{Task: task, Epoch: 9, Part: []byte{1, 0, 2}, Size: 10, Written: 5, InFlight: 1, Aligned: time.Millisecond, Cut: time.Microsecond, Stored: time.Second},
		&rpc.CheckpointDecline{Task: task, Epoch: 9, Failure: failure},
		&rpc.TaskDrained{Task: task},
	}
	var out []rpc.Message
	for _, b := range bodies {
		out = append(out, rpc.Message{Job: ids.JobIDFrom("job"), Generation: 5, Term: 6, Body: b})
	}
	return out
}

// TestConn checks a form of connection. pair opens one; both ends are closed by the suite.
func TestConn(t *testing.T, pair func(t *testing.T) (master, worker rpc.Conn)) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, a, b rpc.Conn)
	}{
		{"every message arrives as it was sent", everyMessage},
		{"order holds over many messages in both directions", order},
		{"what was sent before Close arrives, then io.EOF", closeDelivers},
		{"Close wakes a blocked Recv of its own side", closeWakesRecv},
		{"Close wakes a blocked Send of its own side", closeWakesSend},
		{"Close on both sides at once", closeBoth},
		{"a large message", large},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Run("to the worker", func(t *testing.T) {
				m, w := pair(t)
				defer w.Close()
				defer m.Close()
				c.test(t, m, w)
			})
			t.Run("to the master", func(t *testing.T) {
				m, w := pair(t)
				defer m.Close()
				defer w.Close()
				c.test(t, w, m)
			})
		})
	}
}

func everyMessage(t *testing.T, a, b rpc.Conn) {
	go func() {
		for _, m := range Samples() {
			if err := a.Send(m); err != nil {
				t.Errorf("%T: %v", m.Body, err)
			}
		}
	}()
	for _, want := range Samples() {
		got, err := b.Recv()
		if err != nil {
			t.Fatalf("%T: %v", want.Body, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v %+v\nwant %+v %+v", got, got.Body, want, want.Body)
		}
	}
}

func side(i int) rpc.Message { return rpc.Message{Body: &rpc.Side{Seq: uint64(i)}} }

func order(t *testing.T, a, b rpc.Conn) {
	const n = 2000
	send := func(c rpc.Conn) {
		for i := range n {
			if err := c.Send(side(i)); err != nil {
				t.Errorf("message %d: %v", i, err)
				return
			}
		}
	}
	recv := func(c rpc.Conn) error {
		for i := range n {
			m, err := c.Recv()
			if err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
			if got := m.Body.(*rpc.Side).Seq; got != uint64(i) {
				return fmt.Errorf("got %d, want %d", got, i)
			}
		}
		return nil
	}
	go send(a)
	go send(b)
	other := make(chan error, 1)
	go func() { other <- recv(a) }()
	if err := recv(b); err != nil {
		t.Error(err)
	}
	if err := <-other; err != nil {
		t.Error(err)
	}
}

func closeDelivers(t *testing.T, a, b rpc.Conn) {
	for i := range 10 {
		if err := a.Send(side(i)); err != nil {
			t.Fatal(err)
		}
	}
	go a.Close()
	for i := range 10 {
		m, err := b.Recv()
		if err != nil || m.Body.(*rpc.Side).Seq != uint64(i) {
			t.Fatalf("message %d: %+v, %v", i, m, err)
		}
	}
	for range 2 {
		if m, err := b.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("after the last message: %+v, %v; want io.EOF", m, err)
		}
	}
	a.Close()
	if err := a.Send(side(0)); !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("Send after Close: %v", err)
	}
	if _, err := a.Recv(); !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("Recv after Close: %v", err)
	}
}

func closeWakesRecv(t *testing.T, a, b rpc.Conn) {
	woken := make(chan error, 1)
	go func() {
		_, err := a.Recv()
		woken <- err
	}()
	go a.Close()
	if err := <-woken; !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("Recv: %v, want ErrClosed", err)
	}
}

// closeWakesSend fills the connection; nobody receives.
func closeWakesSend(t *testing.T, a, b rpc.Conn) {
	started, woken := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			if err := a.Send(rpc.Message{Body: &rpc.Side{Seq: uint64(i), Payload: make([]byte, 64<<10)}}); err != nil {
				woken <- err
				return
			}
			if i == 0 {
				close(started)
			}
		}
	}()
	<-started
	a.Close()
	if err := <-woken; !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("Send: %v, want ErrClosed", err)
	}
	for { // the other side comes to an end as well
		if _, err := b.Recv(); err != nil {
			return
		}
	}
}

func closeBoth(t *testing.T, a, b rpc.Conn) {
	done := make(chan struct{}, 4)
	for _, c := range []rpc.Conn{a, b, a, b} {
		go func() {
			c.Close()
			done <- struct{}{}
		}()
	}
	for range 4 {
		<-done
	}
}

func large(t *testing.T, a, b rpc.Conn) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	go a.Send(rpc.Message{Body: &rpc.Side{Payload: want}})
	m, err := b.Recv()
	if err != nil || !bytes.Equal(m.Body.(*rpc.Side).Payload, want) {
		t.Errorf("a message of %d bytes: %v", len(want), err)
	}
}
