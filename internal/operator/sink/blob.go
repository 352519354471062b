package sink

import (
	"cmp"
	"slices"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/bin"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/planted"
)

// Names of the operator's blobs. They are part of the checkpoint's format.
const (
	// stateBlob is one item of a writer's state, as the writer gave it.
	stateBlob = "writer"
	// committableBlob is one committable: a version, the epoch, the range in words, the data.
	committableBlob = "committable"
)

const committableVersion = 1

func appendCommittable(dst []byte, r connector.CommitRequest) []byte {
	dst = append(dst, committableVersion)
	dst = bin.AppendUvarint(dst, r.Epoch)
	dst = bin.AppendString(dst, r.Range)
	return bin.AppendBytes(dst, r.Data)
}

func readCommittable(b []byte) (r connector.CommitRequest, err error) {
	if len(b) == 0 || b[0] != committableVersion {
		return r, errs.New(errs.CodeCorrupt, errs.ClassFailJob, "", "a committable in the checkpoint has no version that this program knows (%.8x)", b)
	}
	epoch, rest, err := bin.Uvarint(b[1:])
	if err == nil {
		r.Epoch = epoch
		var words []byte
		words, rest, err = bin.Bytes(rest)
		r.Range = string(words)
	}
	if err == nil {
		r.Data, rest, err = bin.Bytes(rest)
	}
	if err == nil && len(rest) > 0 {
		err = bin.ErrOverlong
	}
	return r, errs.Wrap(err, errs.CodeCorrupt, errs.ClassFailJob, "", "a committable in the checkpoint is damaged (%.16x)", b)
}

// restoredCommits is what a checkpoint left to a sink.
type restoredCommits struct {
	// restored is what the connector sees of it, nil without a checkpoint.
	restored *connector.Restored
	// share are the committables that this subtask commits again, by epoch.
	share []connector.CommitRequest
}

func (l *restoredCommits) read(ctx *operator.Context) error {
	from := ctx.Restored
	if from == nil || planted.Is(planted.CommittablesForgotten) {
		return nil
	}
	r := &connector.Restored{Epoch: from.Epoch, Parallelism: from.Parallelism,
		State: from.Even(stateBlob, ctx.Subtask, ctx.Parallelism), AllState: from.Union(stateBlob)}
	if planted.Is(planted.WriterForgotten) {
		r.State = nil
	}
	for _, b := range from.Union(committableBlob) {
		c, err := readCommittable(b)
		if err != nil {
			return errs.Wrap(err, "", 0, ctx.Place(), "")
		}
		r.AllCommittables = append(r.AllCommittables, c.Committable)
	}
	for _, b := range from.Even(committableBlob, ctx.Subtask, ctx.Parallelism) {
		c, err := readCommittable(b)
		if err != nil {
			return errs.Wrap(err, "", 0, ctx.Place(), "")
		}
		c.Restored = true
		l.share = append(l.share, c)
	}
	// The epochs of different subtasks of then are mixed.
	slices.SortStableFunc(l.share, func(a, b connector.CommitRequest) int { return cmp.Compare(a.Epoch, b.Epoch) })
	l.restored = r
	return nil
}
