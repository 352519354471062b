package taskstore_test

import (
	"flag"
	"math"
	"os"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/objstore/local"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/internal/storage/taskstore"
	"github.com/weir-stream/weir/internal/task"
	"github.com/weir-stream/weir/internal/testkit/golden"
)

var writeGolden = flag.Bool("write-version-2", false, "write ../testdata/v2 anew, before it is released")

const goldenDir = "../testdata/v2"

type total struct {
	Count int64
	Sum   float64
}

// schemas are those of the golden job.
func schemas(t testing.TB) (keys []byte, states map[string][]byte) {
	key, err := codec.KeyFor[int64]()
	must(t, err)
	value, err := codec.For[total]()
	must(t, err)
	text, err := codec.For[string]()
	must(t, err)
	return key.Schema().Append(nil), map[string][]byte{
		"v": codec.Table{Value: value.Schema(), Layout: "", Namespace: "window"}.Append(nil),
		"m": codec.Table{Value: text.Schema(), Entry: text.Schema()}.Append(nil),
		"l": text.Schema().Append(nil),
	}
}

// goldenSource is what subtask i of the golden job's source has at an epoch.
func goldenSource(epoch ids.Epoch, i int) *operator.Cut {
	c := &operator.Cut{Watermark: 1_700_000_000_000 + int64(i)}
	c.Positions = []snapshot.Position{{Split: []string{"orders.csv:0", "orders.csv:1"}[i], Subtask: i, Data: []byte(`{"offset":` + string('0'+rune(epoch)) + `}`)}}
	if i == 1 && epoch == 2 {
		c.Positions[0].Done, c.Watermark = true, math.MaxInt64
	}
	return c
}

// goldenChange is what happens to the tables before an epoch.
func goldenChange(j *job, epoch ids.Epoch) {
	for n := range 40 {
		if epoch == 2 && n%8 != 0 {
			continue
		}
		key := []byte{0x80, 0, 0, 0, 0, 0, 0, byte(n)}
		value := append([]byte{byte(epoch), 7: 0}, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f)
		j.tables[0].put(key, []byte{1, 2}, nil, value)
		j.tables[1].put(key, nil, []byte("k"), []byte{1, 'a' + byte(epoch)})
		if epoch == 2 {
			j.tables[1].remove(key, nil, []byte("k"))
		}
		j.tables[2].put(key, nil, nil, []byte{1, 'x'})
	}
}

// writeGoldenJob writes two checkpoints, the second one of changes and rows in flight, and a savepoint.
func writeGoldenJob(t *testing.T) {
	must(t, os.RemoveAll(goldenDir))
	places := storage.LocalPlaces(fs.Real{}, "golden")
	store, err := places(goldenDir + "/checkpoints")
	must(t, err)
	now := clock.NewVirtual(time.UnixMilli(1_700_000_000_000))
	j := &job{t: t, store: store, places: places, clock: now, tables: []*table{newTable("v", snapshot.KindValue), newTable("m", snapshot.KindMap), newTable("l", snapshot.KindList)}}
	j.tables[0].state.Width, j.tables[0].state.NamespaceWidth = 16, 2
	keys, states := schemas(t)
	for _, b := range j.tables {
		b.state.Schema = states[b.state.Name]
	}
	j.master, _, err = storage.Open(ctx, storage.Config{Store: store, Places: places, Clock: now, Name: "Orders ü", ID: ids.JobID{1, 2, 15: 0xff}, Writer: "golden"})
	must(t, err)
	must(t, j.master.Reserve(ctx, 64))
	up := taskstore.NewUploader(taskstore.Config{Store: store, Places: places, Clock: now, JobName: "Orders ü", Term: 1, Generation: 1, Incremental: true})
	defer up.Close()
	source := []*taskstore.Task{up.Task(ids.TaskID{}, 2, []string{"orders"}), up.Task(ids.TaskID{Subtask: 1}, 2, []string{"orders"})}
	totals := []*taskstore.Task{up.Task(ids.TaskID{Vertex: 1}, 2, []string{"totals", "out"}), up.Task(ids.TaskID{Vertex: 1, Subtask: 1}, 2, []string{"totals", "out"})}
	for epoch := ids.Epoch(1); epoch <= 3; epoch++ {
		goldenChange(j, epoch)
		b := event.Barrier{Epoch: uint64(epoch), Purpose: event.PurposeCheckpoint}
		d := &storage.Draft{Epoch: epoch, Purpose: event.PurposeCheckpoint, Plan: "4f2a9c", Operators: []storage.Operator{
			{Name: "orders", Parallelism: 2}, {Name: "totals", Vertex: 1, Parallelism: 2}, {Name: "out", Vertex: 1, Parallelism: 2}},
			Blobs: []storage.OperatorBlob{{Operator: "orders", Blob: snapshot.Blob{Name: "weir.enumerator", Subtask: -1, Data: []byte("next")}}}}
		if epoch == 3 {
			b.Purpose, d.Purpose, d.Target = event.PurposeSavepoint, event.PurposeSavepoint, goldenDir+"/savepoint"
			up.Target(3, d.Target)
		}
		upload := func(tk *taskstore.Task, id ids.TaskID, s *task.Snapshot) {
			done := make(chan error)
			tk.Upload(s, func(got storage.Stored, err error) {
				d.Parts = append(d.Parts, storage.TaskPart{Task: id, Part: got.Part})
				done <- err
			})
			must(t, <-done)
		}
		for i := range 2 {
			upload(source[i], ids.TaskID{Subtask: int32(i)}, &task.Snapshot{Barrier: b, Ops: []task.OpSnapshot{{Cut: goldenSource(min(epoch, 2), i)}}})
			cut := &operator.Cut{Watermark: 1_699_999_999_000 - int64(i)}
			for _, tb := range j.tables {
				cut.Parts = append(cut.Parts, statebackend.Part{State: tb.state, Data: tb.cut()})
			}
			sink := &operator.Cut{Watermark: cut.Watermark}
			sink.Blob("committables", i, []byte{byte(epoch)})
			s := &task.Snapshot{Barrier: b, Ops: []task.OpSnapshot{{Cut: cut, KeyWidth: 8, KeySchema: keys}, {Cut: sink}}}
			if epoch == 2 {
				s.Inflight = []task.Inflight{{Gate: 0, Channel: i, Batches: [][]byte{[]byte("kbatch")}}}
			}
			upload(totals[i], ids.TaskID{Vertex: 1, Subtask: int32(i)}, s)
		}
		if epoch == 2 {
			d.Finished = nil
		}
		_, err := j.master.WriteManifest(ctx, d)
		must(t, err)
		for _, tk := range append(source, totals...) {
			tk.Completed(epoch)
		}
		now.Advance(time.Minute)
	}
}

// A job's directory and a savepoint of version 2 must be restored for ever, with the same content.
func TestGolden(t *testing.T) {
	if *writeGolden {
		writeGoldenJob(t)
	}
	store, err := local.New(fs.Real{}, goldenDir+"/checkpoints", "reads")
	must(t, err)
	places := storage.LocalPlaces(fs.Real{}, "reads")
	j := &job{t: t, store: store, places: places}
	for name, at := range map[string]string{"checkpoint 1": goldenDir + "/checkpoints/+orders=20=c3=bc/manifests/00000000000000000001",
		"checkpoint 2": goldenDir + "/checkpoints", "savepoint": goldenDir + "/savepoint"} {
		ref, err := storage.Resolve(ctx, places, at)
		must(t, err)
		src, err := taskstore.Open(ctx, store, places, ref)
		must(t, err)
		r, err := src.Op("orders", true, 0, 1)
		must(t, err)
		text := string(r.Restored.Positions[0].Data) + " " + string(r.Restored.Blobs[0].Data) + "\n"
		r, err = src.Op("totals", true, 0, 1)
		must(t, err)
		text += rowsText(r.Inflight) + "\n" + j.restoredOp(src, "totals", 3) + "\n"
		golden.Check(t, "golden/"+name, text)
	}
}
