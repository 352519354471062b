package restore

import (
	"slices"
	"strings"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/snapshot"
)

// described says whether blobs of that name begin with their schemas: broadcast states and lists of subtasks.
func described(name string) bool {
	return strings.HasPrefix(name, "broadcast/") || strings.HasPrefix(name, "list/")
}

// blobs decides on the described blobs of an operator that the job has, too: one line for each name.
func (p *Plan) blobs(saved *snapshot.Operator, now *Operator) {
	var names []string
	all := map[string][]*snapshot.Blob{}
	for i := range saved.Blobs {
		b := &saved.Blobs[i]
		if !described(b.Name) {
			continue
		}
		if all[b.Name] == nil {
			names = append(names, b.Name)
		}
		all[b.Name] = append(all[b.Name], b)
	}
	for _, name := range names {
		l := Line{Operator: saved.Name, State: name, Verdict: Keep, Reasons: []string{notOpened}}
		at := slices.IndexFunc(now.Blobs, func(o OpenedBlob) bool { return o.Name == name })
		if at >= 0 {
			l.Verdict, l.Reasons = Reuse, nil
		}
		for _, b := range all[name] {
			l.Bytes += int64(len(b.Data)) + b.Length
			if at >= 0 {
				l.worse(compareBlob(b, &now.Blobs[at]))
			}
		}
		p.add(l)
	}
}

// worse takes the verdict of a further blob of the state, if it is worse. Blobs of one state may be of several schemas: those
// that nobody opened have kept theirs.
func (l *Line) worse(o outcome) {
	if l.Verdict == Reuse || o.verdict == Refuse && l.Verdict != Refuse {
		l.Verdict, l.Reasons = o.verdict, o.reasons
	}
}

func compareBlob(b *snapshot.Blob, now *OpenedBlob) outcome {
	src := b.Data
	if b.Object != "" {
		return outcome{verdict: Reuse, reasons: []string{"lies in an object of its own: its schema is compared as it is loaded"}}
	}
	if now.Keys != nil {
		keys, rest, err := codec.ParseSchema(src)
		if err != nil {
			return refused("the schema of its keys cannot be read: %v", err)
		}
		if !keys.Equal(now.Keys) {
			return refused("its keys were %s when it was written and are %s now. Keys cannot change. Keep %s, %s.", keys, now.Keys, keys, orRename)
		}
		src = rest
	}
	was, _, err := codec.ParseSchema(src)
	if err != nil {
		return refused("the schema of its values cannot be read: %v", err)
	}
	return convert(&codec.Table{Value: was}, now.Values)
}
