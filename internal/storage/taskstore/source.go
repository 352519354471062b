package taskstore

import (
	"bytes"
	"context"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/planted"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/internal/task"
)

// Source reads what the tasks of a deployment are restored from. Its methods may be called from any goroutine. ctx of Open
// is that of all its reads.
type Source struct {
	ctx  context.Context
	snap *storage.Snapshot

	mu    sync.Mutex
	blobs map[string][]byte // objects of blobs that were read
}

// Open reads the manifest that ref names. The master has checked that its objects are there.
func Open(ctx context.Context, own objstore.Store, places storage.Places, ref storage.Ref) (*Source, error) {
	s, err := storage.Load(ctx, own, places, ref)
	if err != nil {
		return nil, err
	}
	return &Source{ctx: ctx, snap: s, blobs: map[string][]byte{}}, nil
}

// Manifest is what is restored. It must not be changed.
func (s *Source) Manifest() *snapshot.Manifest { return s.snap.Manifest }

// Stopped is the epoch of the stop that the job had come to when its leader died, and that has to be seen finished; 0 if the job
// goes on. A user who names the savepoint of a stop goes on from it.
func (s *Source) Stopped() uint64 {
	if s.snap.Ref.Dir != "" || s.snap.Place == "" {
		return 0
	}
	return uint64(s.snap.Epoch)
}

// Op returns what a subtask of the operator of that name is restored from, nil if the operator is new. head says that the
// operator is the first of its chain, which takes the rows in flight.
func (s *Source) Op(name string, head bool, subtask, parallelism int) (*task.OpRestore, error) {
	i := slices.IndexFunc(s.snap.Operators, func(o snapshot.Operator) bool { return o.Name == name })
	if i < 0 {
		return nil, nil
	}
	o := &s.snap.Operators[i]
	blobs, err := s.blobsOf(o)
	if err != nil {
		return nil, err
	}
	out := &task.OpRestore{
		Restored: &operator.Restored{Epoch: uint64(s.snap.Epoch), Watermark: leastWatermark(o), Parallelism: o.Parallelism, Blobs: blobs, Positions: o.Positions},
		States:   o.States, KeyWidth: o.KeyWidth, KeySchema: o.KeySchema,
	}
	if len(o.States) > 0 {
		out.Load = func(groups keygroup.Range, sinks map[string]transfer.Sink, other func(*snapshot.State) (transfer.Sink, error)) error {
			if planted.Is(planted.GroupsOffByOne) {
				groups.To--
			}
			return s.load(o, groups, sinks, other)
		}
	}
	if head && !planted.Is(planted.InflightForgotten) {
		out.Inflight, err = s.rows(o, subtask, parallelism)
	}
	return out, err
}

// leastWatermark is the least event time over the subtasks that had not finished.
func leastWatermark(o *snapshot.Operator) int64 {
	if len(o.Watermarks) == 0 || planted.Is(planted.WatermarkForgotten) {
		return math.MinInt64
	}
	least := int64(math.MaxInt64)
	for i, w := range o.Watermarks {
		if !slices.Contains(o.Finished, i) {
			least = min(least, w)
		}
	}
	return least
}

// load gives the entries of the groups to the sinks, object by object in the order of the manifest.
func (s *Source) load(o *snapshot.Operator, groups keygroup.Range, sinks map[string]transfer.Sink, other func(*snapshot.State) (transfer.Sink, error)) error {
	if sinks == nil {
		sinks = map[string]transfer.Sink{}
	}
	l := loading{s: s, o: o, sinks: maps.Clone(sinks), other: other}
	var objects []loaded
	deltas := false
	for _, obj := range s.snap.Overlapping(o.Name, groups) {
		store, name := s.snap.Object(obj.Name)
		r, err := snapshot.NewReader(objstore.ReaderAt(s.ctx, store, name), obj.Size)
		if err != nil {
			return errs.Wrap(err, "", 0, "snapshot", "object %s", name)
		}
		in := loaded{Object: obj, r: r}
		if in.sinks, in.states, err = l.sinksOf(&obj); err != nil {
			return err
		}
		objects = append(objects, in)
		deltas = deltas || obj.Kind == snapshot.ObjectDelta
	}
	if deltas {
		return l.merged(objects, groups)
	}
	for i := range objects {
		in := &objects[i]
		if err := transfer.Load(in.r, groups, o.KeyWidth, in.sinks); err != nil {
			return errs.Wrap(err, "", 0, "snapshot", "object %s", in.Name)
		}
	}
	return nil
}

// blobsOf returns the blobs of an operator, with the bytes of those that lie in objects.
func (s *Source) blobsOf(o *snapshot.Operator) ([]snapshot.Blob, error) {
	out := slices.Clone(o.Blobs)
	for i := range out {
		b := &out[i]
		if b.Object == "" {
			continue
		}
		all, err := s.whole(b.Object)
		if err != nil {
			return nil, err
		}
		*b = snapshot.Blob{Name: b.Name, Subtask: b.Subtask, Data: all[b.Offset : b.Offset+b.Length : b.Offset+b.Length]}
	}
	return out, nil
}

// whole reads an object of blobs once, and checks it.
func (s *Source) whole(name string) ([]byte, error) {
	s.mu.Lock()
	b := s.blobs[name]
	s.mu.Unlock()
	if b != nil {
		return b, nil
	}
	b, err := s.read(name)
	if err == nil {
		s.mu.Lock()
		s.blobs[name] = b
		s.mu.Unlock()
	}
	return b, err
}

// read reads a whole object and checks its size and checksum.
func (s *Source) read(name string) ([]byte, error) {
	i := slices.IndexFunc(s.snap.Objects, func(o snapshot.Object) bool { return o.Name == name })
	obj := &s.snap.Objects[i]
	store, full := s.snap.Object(name)
	b, err := objstore.ReadAll(s.ctx, store, full, obj.Size)
	if err == nil && (int64(len(b)) != obj.Size || objstore.Checksum(b) != obj.CRC) {
		err = errs.New(errs.CodeCorrupt, errs.ClassFailJob, "snapshot", "the object %s fails its checksum", full)
	}
	return b, err
}

// rows returns the rows in flight that a subtask has to see: at the same parallelism those that were on their way to it, at
// another one all, in the same order for everybody. Which of them are its own the task finds out.
func (s *Source) rows(o *snapshot.Operator, subtask, parallelism int) ([]task.Inflight, error) {
	var out []task.Inflight
	for i := range s.snap.Objects {
		obj := &s.snap.Objects[i]
		if obj.Kind != snapshot.ObjectRows || obj.Operator != o.Name || parallelism == o.Parallelism && obj.Subtask != subtask {
			continue
		}
		b, err := s.read(obj.Name)
		if err != nil {
			return nil, err
		}
		first := len(out)
		err = snapshot.ReadRows(b, func(gate, channel int, batch []byte) error {
			at := slices.IndexFunc(out[first:], func(in task.Inflight) bool { return in.Gate == gate && in.Channel == channel })
			if at < 0 {
				at = len(out) - first
				out = append(out, task.Inflight{Gate: gate, Channel: channel})
			}
			in := &out[first+at]
			in.Batches = append(in.Batches, bytes.Clone(batch))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
