package restore_test

import (
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/restore"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/testkit/golden"
)

func schemaOf[T any](t *testing.T) *codec.Schema {
	t.Helper()
	c, err := codec.For[T]()
	if err != nil {
		t.Fatal(err)
	}
	return c.Schema()
}

func keySchema[K any](t *testing.T) []byte {
	t.Helper()
	c, err := codec.KeyFor[K]()
	if err != nil {
		t.Fatal(err)
	}
	return c.Schema().Append(nil)
}

// engine is a state that an operator of the engine opens.
func engine[T any](t *testing.T, name string, kind snapshot.Kind, table codec.Table, nsWidth int) restore.Opened {
	t.Helper()
	v, err := codec.ValuesOf[T]()
	if err != nil {
		t.Fatal(err)
	}
	table.Value = v.Schema
	return restore.Opened{Values: v, State: snapshot.State{Name: name, Kind: kind, NamespaceWidth: nsWidth, Schema: table.Append(nil)}}
}

func user[T any](t *testing.T, name string) restore.Opened {
	o := engine[T](t, name, snapshot.KindValue, codec.Table{}, 0)
	v := *o.Values
	v.Migratable = true
	o.Values = &v
	return o
}

func timers(name string, nsWidth int) restore.Opened {
	return restore.Opened{State: snapshot.State{Name: name, Kind: snapshot.KindEventTimers, NamespaceWidth: nsWidth}}
}

// states numbers what operators have opened, as a manifest lists it.
func states(all ...restore.Opened) (out []snapshot.State) {
	for i, o := range all {
		o.State.ID = uint32(i + 1)
		out = append(out, o.State)
	}
	return out
}

func listBlob[T any](t *testing.T, name string, subtask int) snapshot.Blob {
	return snapshot.Blob{Name: name, Subtask: subtask, Data: append(schemaOf[T](t).Append(nil), 0)}
}

func broadcastBlob[K, V any](t *testing.T, name string) snapshot.Blob {
	return snapshot.Blob{Name: name, Data: append(schemaOf[V](t).Append(keySchema[K](t)), 0)}
}

// saved is a savepoint of a program with everything in it.
func saved(t *testing.T) *snapshot.Manifest {
	const windows = "tumbling window in event-time"
	m := &snapshot.Manifest{Job: ids.JobID{1}, Epoch: 17, Purpose: snapshot.PurposeSavepoint, Plan: "then", KeyGroups: keygroup.Count, Operators: []snapshot.Operator{
		{Name: "orders", Parallelism: 2, Positions: []snapshot.Position{{Split: "0", Data: []byte("1234")}, {Split: "1"}},
			Blobs: []snapshot.Blob{{Name: "weir.enumerator", Subtask: -1, Data: make([]byte, 100)}}},
		{Name: "enrich", Parallelism: 2, Watermarks: []int64{1, 2}, Blobs: []snapshot.Blob{{Name: "weir.watermark-out", Data: make([]byte, 8)}}},
		{Name: "total", Parallelism: 2, KeySchema: keySchema[string](t),
			States: states(user[order1](t, "total"), user[int32](t, "level"), user[string](t, "unused"), timers("weir.timers/event", 0))},
		{Name: "hourly", Parallelism: 2, KeySchema: keySchema[int32](t), KeyWidth: 4,
			States: states(engine[order1](t, "windows/panes", snapshot.KindValue, codec.Table{Namespace: windows}, 16), engine[int64](t, "key/seen", snapshot.KindValue, codec.Table{}, 0))},
		{Name: "latest", Parallelism: 1, KeySchema: keySchema[int64](t), KeyWidth: 8, States: states(engine[int64](t, "acc", snapshot.KindValue, codec.Table{}, 0))},
		{Name: "rules", Parallelism: 2, Blobs: []snapshot.Blob{broadcastBlob[string, int32](t, "broadcast/limits"), listBlob[int32](t, "list/held", 0),
			listBlob[int64](t, "list/held", 1), {Name: "list/large", Object: "data/1", Length: 1 << 20}, listBlob[string](t, "list/unused", 0)}},
		{Name: "archive", Parallelism: 2, Blobs: []snapshot.Blob{{Name: "committables", Data: []byte("abc")}}},
	}}
	for i, o := range []string{"total", "total", "hourly", "latest"} {
		m.Objects = append(m.Objects, snapshot.Object{Name: string('a' + rune(i)), Operator: o, Entries: 1000, RawBytes: 40_000 << i})
	}
	m.Objects = append(m.Objects, snapshot.Object{Name: "rows", Operator: "total", Kind: snapshot.ObjectRows, RawBytes: 1 << 40})
	return m
}

func blobValues[T any](t *testing.T) *codec.Values { return user[T](t, "x").Values }

// same is the program of saved.
func same(t *testing.T) []restore.Operator {
	m := saved(t)
	var out []restore.Operator
	for _, o := range m.Operators {
		op := restore.Operator{Name: o.Name, Keys: o.KeySchema, KeyWidth: o.KeyWidth, Known: o.Name != "orders" && o.Name != "archive"}
		for _, s := range o.States {
			op.States = append(op.States, restore.Opened{State: s})
		}
		out = append(out, op)
	}
	const windows = "tumbling window in event-time"
	out[2].States = []restore.Opened{timers("weir.timers/event", 0), user[order1](t, "total"), user[int32](t, "level"), user[string](t, "unused")}
	out[3].States = []restore.Opened{engine[order1](t, "windows/panes", snapshot.KindValue, codec.Table{Namespace: windows}, 16), user[int64](t, "key/seen")}
	out[4].States = []restore.Opened{engine[int64](t, "acc", snapshot.KindValue, codec.Table{}, 0)}
	out[5].Blobs = []restore.OpenedBlob{{Name: "broadcast/limits", Keys: &codec.Schema{Kind: codec.KindString}, Values: blobValues[int32](t)},
		{Name: "list/held", Values: blobValues[int64](t)}, {Name: "list/large", Values: blobValues[int64](t)}}
	return out
}

func report(p *restore.Plan) string {
	s := p.String()
	if err := p.Refused(); err != nil {
		s += err.Error() + "\n"
	}
	if d := p.Dropped(); d != nil {
		s += "dropped: " + strings.Join(d, ", ") + "\n"
	}
	return s
}

func TestPlans(t *testing.T) {
	golden.Check(t, "same", report(restore.Make(saved(t), "then", same(t), restore.Options{})))

	// Evolved: other types, an operator more, one gone that had nothing, all in another order.
	job := same(t)
	job[2].States = []restore.Opened{user[order2](t, "total"), user[int64](t, "level"), user[bool](t, "fresh")}
	job[5].Blobs[0].Values = blobValues[*int32](t)
	job = append([]restore.Operator{{Name: "alarms", Known: true, States: []restore.Opened{user[int64](t, "count"), timers("weir.timers/event", 0)}}}, job...)
	job[0], job[3] = job[3], job[0]
	job = append(job[:2], job[3:]...)
	golden.Check(t, "evolved", report(restore.Make(saved(t), "now", job, restore.Options{})))

	// Operators that are gone.
	golden.Check(t, "gone", report(restore.Make(saved(t), "now", same(t)[3:], restore.Options{})))
	golden.Check(t, "dropped", report(restore.Make(saved(t), "now", same(t)[3:], restore.Options{DropUnclaimed: true})))

	// Everything that is refused is said at once.
	job = same(t)
	job[2].Keys = keySchema[int64](t)
	job[3].States[0] = engine[order1](t, "windows/panes", snapshot.KindValue, codec.Table{Namespace: "sliding window in event-time"}, 16)
	job[4].States[0] = engine[int32](t, "acc", snapshot.KindValue, codec.Table{}, 0)
	job[5].Blobs[0].Keys = &codec.Schema{Kind: codec.KindInt64}
	job[5].Blobs[1].Values = blobValues[int32](t)
	golden.Check(t, "refused", report(restore.Make(saved(t), "now", append(job[:6], restore.Operator{Name: "archive2"}), restore.Options{})))

	// Operators of another form or kind under a name.
	job = same(t)
	job[3].States = []restore.Opened{engine[order2](t, "windows/content", snapshot.KindValue, codec.Table{Namespace: "tumbling window in event-time"}, 16)}
	job[4].States = []restore.Opened{engine[int64](t, "left", snapshot.KindMap, codec.Table{}, 0)}
	golden.Check(t, "forms", report(restore.Make(saved(t), "now", job, restore.Options{})))
}

func TestRefusedIsAUsersError(t *testing.T) {
	err := restore.Make(saved(t), "now", nil, restore.Options{}).Refused()
	if errs.CodeOf(err) != errs.CodeSchema || errs.ClassOf(err) != errs.ClassUser {
		t.Errorf("error %v of class %v", err, errs.ClassOf(err))
	}
	if err := restore.Make(&snapshot.Manifest{}, "now", nil, restore.Options{}).Refused(); err != nil {
		t.Error(err)
	}
}

func TestKeys(t *testing.T) {
	type pair struct {
		A string
		B int32
	}
	for _, c := range []struct {
		was, now restore.Keys
		want     string
	}{
		{restore.Keys{Width: 8}, restore.Keys{Width: 8}, ""},
		{restore.Keys{Width: 8}, restore.Keys{Width: 0}, "its keys had 8 bytes when it was written and have 0 now"},
		{restore.Keys{Schema: keySchema[pair](t)}, restore.Keys{Schema: keySchema[pair](t)}, ""},
		{restore.Keys{Schema: keySchema[int64](t), Width: 8}, restore.Keys{Schema: keySchema[uint64](t), Width: 8},
			"its keys were int64 when it was written and are uint64 now. Keys cannot change. Key the stream by int64"},
		{restore.Keys{Schema: []byte{9}}, restore.Keys{Schema: keySchema[pair](t)}, "cannot be read"},
	} {
		if got := c.now.Refuse(c.was); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%v to %v: %q, want %q", c.was, c.now, got, c.want)
		}
	}
}
