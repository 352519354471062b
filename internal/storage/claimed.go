package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/planted"
)

// claim is a checkpoint or savepoint elsewhere that the job owns: it goes when enough newer checkpoints are complete.
type claim struct {
	Ref   Ref       `json:"ref"`
	After ids.Epoch `json:"after"` // the highest epoch that was reserved when it was claimed

	name string
}

// Claim makes the job the owner of what it is restored from, durably: before it runs. Without a claim the job reads it and
// never touches it.
func (j *Job) Claim(ctx context.Context, ref Ref) error {
	if err := j.current(ctx); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(ref.String()))
	c := claim{Ref: ref, After: j.reserved, name: j.dir + claimedDir + hex.EncodeToString(sum[:8])}
	b, err := json.Marshal(c)
	if err != nil {
		return errs.Wrap(err, errs.CodeBug, errs.ClassBug, "claim", "encoding it")
	}
	err = j.retry(ctx, func() error {
		_, err := j.store.Put(ctx, c.name, objstore.Bytes(b))
		return err
	})
	if err == nil {
		j.claims = append(j.claims, c)
	}
	return err
}

func (j *Job) readClaims(ctx context.Context) error {
	var names []string
	err := j.retry(ctx, func() error {
		names = names[:0]
		for info, err := range j.store.List(ctx, j.dir+claimedDir) {
			if err != nil {
				return err
			}
			names = append(names, info.Name)
		}
		return nil
	})
	for _, name := range names {
		if err != nil {
			break
		}
		var b []byte
		if b, err = j.read(ctx, name, recordMax); err != nil {
			break
		}
		c := claim{name: name}
		if json.Unmarshal(b, &c) != nil || c.Ref.IsZero() {
			j.cfg.Tell("the record "+name+" of a claimed savepoint is damaged; the savepoint stays", nil)
			continue
		}
		j.claims = append(j.claims, c)
	}
	return err
}

// subsumeClaims deletes claimed savepoints that enough complete checkpoints have followed.
func (j *Job) subsumeClaims(ctx context.Context) {
	rest := j.claims[:0]
	for _, c := range j.claims {
		newer := 0
		for epoch, k := range j.manifests {
			if epoch > c.After && !k.owned && k.unknown == nil {
				newer++
			}
		}
		if newer < j.cfg.Retain && !planted.Is(planted.ClaimDeletedEarly) {
			rest = append(rest, c)
			continue
		}
		if err := j.deleteClaimed(ctx, &c); err != nil {
			j.cfg.Tell(fmt.Sprintf("the claimed %v is not needed any more and could not be deleted", c.Ref), err)
			rest = append(rest, c)
		}
	}
	j.claims = rest
}

// deleteClaimed deletes a snapshot elsewhere: what no other manifest beside it lists, then the manifest, then the record.
func (j *Job) deleteClaimed(ctx context.Context, c *claim) error {
	if err := j.current(ctx); err != nil {
		return err
	}
	s, err := Load(ctx, j.store, j.cfg.Places, c.Ref)
	switch {
	case objstore.Is(err, objstore.CodeNotFound):
		// Another leader got this far. Objects that it left are in a directory that the user knows.
		return j.delete(ctx, j.store, c.name)
	case err != nil:
		return err
	}
	root := j.store
	if c.Ref.Dir != "" {
		if root, err = open(j.cfg.Places, c.Ref.Dir); err != nil {
			return err
		}
	}
	listed := map[string]bool{}
	names, err := manifestsIn(ctx, root)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == c.Ref.Manifest {
			continue
		}
		other, err := Load(ctx, root, j.cfg.Places, Ref{Manifest: name})
		if err != nil {
			return err
		}
		for i := range other.Objects {
			_, object := other.Object(other.Objects[i].Name)
			listed[object] = listed[object] || other.Place == s.Place
		}
	}
	// The objects first: the record finds the manifest again if this ends halfway, and nobody restores from a claimed one.
	for i := range s.Objects {
		store, object := s.Object(s.Objects[i].Name)
		if listed[object] {
			continue
		}
		if err := j.delete(ctx, store, object); err != nil {
			return err
		}
	}
	if err := j.delete(ctx, root, c.Ref.Manifest); err != nil {
		return err
	}
	if s.Place != "" {
		if err := j.delete(ctx, s.store, savepointManifest); err != nil {
			return err
		}
	}
	if c.Ref.String() == path.Join(j.cfg.Dir, ManifestName(path.Base(j.dir), s.Epoch)) {
		delete(j.manifests, s.Epoch) // it was one of an earlier run of this job
	}
	return j.delete(ctx, j.store, c.name)
}
