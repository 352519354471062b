package processop

import (
	"strings"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/planted"
	"github.com/weir-stream/weir/state"
)

// The names of the blobs that hold a function's broadcast states and lists begin with these.
const (
	broadcastBlob = "broadcast/"
	listBlob      = "list/"
)

// restore takes what an earlier run has left, before the function is made.
func (rt *Runtime) restore() error {
	r := rt.Op.Restored
	if r == nil {
		return nil
	}
	then := max(r.Parallelism, 1)
	lists := map[string][]state.SavedList{}
	for _, b := range r.Blobs {
		// Every subtask has saved a copy of a broadcast state. With the same parallelism each finds its own again.
		if name, ok := strings.CutPrefix(b.Name, broadcastBlob); ok && b.Subtask == rt.Op.Subtask%then {
			if rt.Op.Subtask >= then && planted.Is(planted.BroadcastForgotten) {
				continue
			}
			rt.Broadcasts.Restore(name, b.Data)
		}
		if name, ok := strings.CutPrefix(b.Name, listBlob); ok {
			lists[name] = append(lists[name], state.SavedList{Subtask: b.Subtask, Data: b.Data})
		}
	}
	for name, all := range lists {
		if err := rt.Lists.Restore(name, all, rt.Op.Subtask, rt.Op.Parallelism, r.Parallelism); err != nil {
			return errs.Wrap(err, errs.CodeCorrupt, errs.ClassFailJob, rt.Op.Place(), "its state cannot be restored")
		}
	}
	return nil
}

// BlobStates calls f with the types of the function's broadcast states and lists.
func (rt *Runtime) BlobStates(f func(blob string, keys *codec.Schema, values *codec.Values)) {
	rt.Broadcasts.Types(func(name string, keys, values any) {
		f(broadcastBlob+name, keys.(*codec.Schema), values.(*codec.Values))
	})
	rt.Lists.Types(func(name string, values any) { f(listBlob+name, nil, values.(*codec.Values)) })
}

// Snapshot adds the function's broadcast states and lists to a cut. Those by key are cut by the task.
func (rt *Runtime) Snapshot(cut *operator.Cut) error {
	rt.Broadcasts.Save(func(name string, data []byte) { cut.Blob(broadcastBlob+name, rt.Op.Subtask, data) })
	rt.Lists.Save(func(name string, data []byte) { cut.Blob(listBlob+name, rt.Op.Subtask, data) })
	return nil
}
