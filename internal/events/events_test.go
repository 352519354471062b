package events_test

import (
	"bytes"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/ids"
)

// counting returns a listener of which every function adds its event's name to the list.
func counting(to *[]string, prefix string) events.Listener {
	var l events.Listener
	v := reflect.ValueOf(&l).Elem()
	for i := range v.NumField() {
		name := prefix + v.Type().Field(i).Name
		v.Field(i).Set(reflect.MakeFunc(v.Field(i).Type(), func([]reflect.Value) []reflect.Value {
			*to = append(*to, name)
			return nil
		}))
	}
	return l
}

// callAll calls every function of a listener with a zero Info.
func callAll(l events.Listener) {
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		v.Field(i).Call([]reflect.Value{reflect.Zero(v.Field(i).Type().In(0))})
	}
}

// A new event that join forgets would be lost in silence: these walk over all fields.

func TestTeeTellsBothInOrder(t *testing.T) {
	var got, want []string
	typ := reflect.TypeFor[events.Listener]()
	for i := range typ.NumField() {
		want = append(want, "a."+typ.Field(i).Name, "b."+typ.Field(i).Name)
	}
	callAll(events.Tee(counting(&got, "a."), counting(&got, "b.")))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestEnsureDefaults(t *testing.T) {
	callAll(events.Listener{}.EnsureDefaults())
	var got []string
	callAll(counting(&got, "").EnsureDefaults())
	if len(got) != reflect.TypeFor[events.Listener]().NumField() {
		t.Errorf("got %v", got)
	}
}

func TestLogHasEveryEvent(t *testing.T) {
	var b bytes.Buffer
	callAll(events.Log(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	if got, want := strings.Count(b.String(), "\n"), reflect.TypeFor[events.Listener]().NumField(); got != want {
		t.Errorf("%d lines for %d events:\n%s", got, want, &b)
	}
}

func TestLogText(t *testing.T) {
	var b bytes.Buffer
	drop := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	l := events.Log(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: drop})))
	job := ids.JobID{0xab}
	l.JobEnd(events.JobEnd{Job: job, Name: "flights", Phase: "FINISHED", Elapsed: 2 * time.Second})
	l.JobEnd(events.JobEnd{Job: job, Name: "flights", Phase: "FAILED", Err: errs.New(errs.CodeSource, errs.ClassFailTask, "in", "gone"), Elapsed: time.Second})
	l.TaskPhase(events.TaskPhase{Job: job, Task: ids.TaskID{Vertex: 1, Subtask: 2}, From: "RUNNING", To: "FINISHED"})
	l.TaskPhase(events.TaskPhase{Job: job, Task: ids.TaskID{Vertex: 1, Subtask: 2}, Name: "out", Parallelism: 3, Worker: "w1", From: "RUNNING", To: "FAILED", Err: errors.New("x")}) // in the job's error
	l.BadRecord(events.BadRecord{Operator: "src", Reason: errors.New("x"), Action: "skip", Total: 4})
	l.BadRecord(events.BadRecord{Operator: "src", Reason: errors.New("x"), Action: "fail", Total: 5}) // in the job's error
	l.LateRecords(events.LateRecords{Operator: "hourly", Subtask: 1, Total: 2, Time: 5, Watermark: 9})
	const want = `level=DEBUG msg="job ends" job=ab000000000000000000000000000000 name=flights phase=FINISHED elapsed=2s
level=DEBUG msg="job ends" job=ab000000000000000000000000000000 name=flights phase=FAILED elapsed=1s code=source.read
level=DEBUG msg="task phase" job=ab000000000000000000000000000000 task=v1/2#0 name="" of=0 worker="" from=RUNNING to=FINISHED
level=DEBUG msg="task phase" job=ab000000000000000000000000000000 task=v1/2#0 name=out of=3 worker=w1 from=RUNNING to=FAILED err=x
level=WARN msg="record not decoded" operator=src subtask=0 record=x action=skip "so far"=4
level=DEBUG msg="record not decoded" operator=src subtask=0 record=x action=fail "so far"=5
level=WARN msg="late row" operator=hourly subtask=1 at=5 watermark=9 "so far"=2 "read by a side output"=false
`
	if b.String() != want {
		t.Errorf("got\n%s", &b)
	}
}
