package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/storage"
)

// ReadMost is the state, in bytes before compression, that is read to count the entries of each state without being asked.
const ReadMost = 64 << 20

// spreadParts is how many equal ranges of key groups the spread is told for.
const spreadParts = 32

// Snapshot is a checkpoint or savepoint.
type Snapshot struct {
	Path       string     `json:"path"`
	Purpose    string     `json:"purpose"`
	Epoch      uint64     `json:"epoch"`
	Job        string     `json:"job"`
	JobID      string     `json:"jobID"`
	Term       uint64     `json:"term"`
	Plan       string     `json:"plan"`
	Created    *time.Time `json:"created,omitempty"`
	ObjectsAt  string     `json:"objectsAt,omitempty"` // if they lie elsewhere
	Operators  []Operator `json:"operators"`
	Objects    int        `json:"objects"`
	Bytes      int64      `json:"bytes"`
	RawBytes   int64      `json:"rawBytes"`
	Entries    int64      `json:"entries"`
	Manifest   int64      `json:"manifestBytes"`
	Reused     int        `json:"reusedObjects"` // written by earlier checkpoints
	ReusedSize int64      `json:"reusedBytes"`
	// Read says that all keyed state was read and checked; only then states have figures of their own.
	Read bool `json:"read"`
	// Problems are what keeps it from being restored.
	Problems []string `json:"problems,omitempty"`
}

// Operator is the state of one operator.
type Operator struct {
	Name        string      `json:"name"`
	Parallelism int         `json:"parallelism"`
	Finished    []int       `json:"finished,omitempty"`
	Keys        string      `json:"keys,omitempty"`
	Watermark   string      `json:"watermark,omitempty"` // the lowest
	Highest     string      `json:"highestWatermark,omitempty"`
	States      []State     `json:"states,omitempty"`
	Subtasks    []Subtask   `json:"subtasks,omitempty"`
	Spread      []int64     `json:"spread,omitempty"` // entries in equal ranges of key groups
	Positions   []Position  `json:"positions,omitempty"`
	Blobs       []BlobTotal `json:"blobs,omitempty"`
	Rows        int64       `json:"rowsInFlightBytes,omitempty"`
	Objects     int         `json:"objects"`
	Deltas      int         `json:"deltas,omitempty"`
	Bytes       int64       `json:"bytes"`
	RawBytes    int64       `json:"rawBytes"`
	Entries     int64       `json:"entries"`
}

// State is one keyed state. Entries and RawBytes are known if the state was read.
type State struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Holds     string `json:"holds"`
	Namespace string `json:"namespace,omitempty"`
	Width     int    `json:"width,omitempty"`
	Entries   int64  `json:"entries,omitempty"`
	RawBytes  int64  `json:"rawBytes,omitempty"`
	Removals  int64  `json:"removals,omitempty"` // in deltas
}

// Subtask is what one subtask has written.
type Subtask struct {
	Subtask  int   `json:"subtask"`
	Entries  int64 `json:"entries"`
	Bytes    int64 `json:"bytes"`
	RawBytes int64 `json:"rawBytes"`
}

// Position is where a split goes on.
type Position struct {
	Split   string `json:"split"`
	Subtask int    `json:"subtask"`
	Done    bool   `json:"done,omitempty"`
	Data    string `json:"data,omitempty"`
}

// BlobTotal is the blobs of one name.
type BlobTotal struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
}

// Describe reads the manifest that ref names, and with full, or if there is little, all keyed state that it lists.
func Describe(ctx context.Context, places storage.Places, ref storage.Ref, full bool) (*Snapshot, error) {
	s, err := storage.Load(ctx, nil, places, ref)
	if err != nil {
		return nil, err
	}
	encoded, err := s.Encode()
	if err != nil {
		return nil, err
	}
	r := &Snapshot{Path: ref.String(), Purpose: string(s.Purpose), Epoch: uint64(s.Epoch), Job: s.JobName, JobID: s.Job.String(), Term: uint64(s.Term),
		Plan: s.Plan, ObjectsAt: s.Place, Objects: len(s.Objects), Manifest: int64(len(encoded))}
	if s.Created > 0 {
		at := time.UnixMilli(s.Created).UTC()
		r.Created = &at
	}
	if err := s.Check(ctx); err != nil {
		if errs.ClassOf(err) == errs.ClassRetry {
			return nil, err
		}
		r.Problems = append(r.Problems, err.Error())
	}
	for i := range s.Objects {
		o := &s.Objects[i]
		r.Bytes, r.RawBytes, r.Entries = r.Bytes+o.Size, r.RawBytes+o.RawBytes, r.Entries+o.Entries
		if n, ok := storage.ParseDataName(o.Name); ok && n.Epoch < s.Epoch {
			r.Reused++
			r.ReusedSize += o.Size
		}
	}
	for i := range s.Operators {
		r.Operators = append(r.Operators, operator(s, &s.Operators[i]))
	}
	if r.Problems == nil && (full || r.RawBytes <= ReadMost) {
		r.Read = true
		for i := range s.Operators {
			if err := read(ctx, s, &s.Operators[i], &r.Operators[i]); err != nil {
				r.Read = false
				r.Problems = append(r.Problems, err.Error())
			}
		}
	}
	return r, nil
}

// operator tells what the manifest says of an operator.
func operator(s *storage.Snapshot, o *snapshot.Operator) Operator {
	out := Operator{Name: o.Name, Parallelism: o.Parallelism, Finished: o.Finished}
	if o.KeySchema != nil || len(o.States) > 0 {
		out.Keys = keys(o)
	}
	out.Watermark, out.Highest = watermarks(o)
	for i := range o.States {
		st := &o.States[i]
		holds, space := holds(st)
		out.States = append(out.States, State{Name: st.Name, Kind: string(st.Kind), Holds: holds, Namespace: space, Width: st.Width})
	}
	for _, p := range o.Positions {
		out.Positions = append(out.Positions, Position{Split: p.Split, Subtask: p.Subtask, Done: p.Done, Data: readable(p.Data)})
	}
	for i := range o.Blobs {
		b := &o.Blobs[i]
		at := slices.IndexFunc(out.Blobs, func(t BlobTotal) bool { return t.Name == b.Name })
		if at < 0 {
			at = len(out.Blobs)
			out.Blobs = append(out.Blobs, BlobTotal{Name: b.Name})
		}
		out.Blobs[at].Count++
		out.Blobs[at].Bytes += int64(len(b.Data)) + b.Length
	}
	slices.SortFunc(out.Blobs, func(a, b BlobTotal) int { return strings.Compare(a.Name, b.Name) })
	bySubtask := map[int]*Subtask{}
	for i := range s.Objects {
		obj := &s.Objects[i]
		if obj.Operator != o.Name {
			continue
		}
		out.Objects++
		out.Bytes, out.RawBytes = out.Bytes+obj.Size, out.RawBytes+obj.RawBytes
		switch obj.Kind {
		case snapshot.ObjectRows:
			out.Rows += obj.RawBytes
			continue
		case snapshot.ObjectBlobs:
			continue
		case snapshot.ObjectDelta:
			out.Deltas++
		}
		out.Entries += obj.Entries
		sub := bySubtask[obj.Subtask]
		if sub == nil {
			sub = &Subtask{Subtask: obj.Subtask}
			bySubtask[obj.Subtask] = sub
		}
		sub.Entries, sub.Bytes, sub.RawBytes = sub.Entries+obj.Entries, sub.Bytes+obj.Size, sub.RawBytes+obj.RawBytes
	}
	for _, sub := range bySubtask {
		out.Subtasks = append(out.Subtasks, *sub)
	}
	slices.SortFunc(out.Subtasks, func(a, b Subtask) int { return cmp.Compare(a.Subtask, b.Subtask) })
	return out
}

// read counts the entries of the states of an operator, in deltas too, and checks every block on the way.
func read(ctx context.Context, s *storage.Snapshot, o *snapshot.Operator, into *Operator) error {
	for _, obj := range s.Overlapping(o.Name, keygroup.All()) {
		store, name := s.Object(obj.Name)
		r, err := snapshot.NewReader(objstore.ReaderAt(ctx, store, name), obj.Size)
		if err != nil {
			return errs.Wrap(err, "", 0, "object "+name, "")
		}
		if into.Spread == nil {
			into.Spread = make([]int64, spreadParts)
		}
		err = r.Each(keygroup.All(), func(e *snapshot.Entry) error {
			id, ok := obj.StateID(e.State)
			at := slices.IndexFunc(o.States, func(st snapshot.State) bool { return st.ID == id })
			if !ok || at < 0 {
				return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "snapshot", "an entry of the unknown state %d", e.State)
			}
			st := &into.States[at]
			if e.Removed {
				st.Removals++
				return nil
			}
			st.Entries++
			st.RawBytes += int64(len(e.Key) + len(e.Namespace) + len(e.UserKey) + len(e.Value))
			into.Spread[int(e.Group())*spreadParts/keygroup.Count]++
			return nil
		})
		if err != nil {
			return errs.Wrap(err, "", 0, "object "+name, "")
		}
	}
	return nil
}
