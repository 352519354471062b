package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/weir-stream/weir/connector"
)

// committer gives pending parts their final names.
type committer struct {
	ctx connector.WriterContext
	// The parts lie in root and, if deep is true, in the folders below it.
	root  string
	deep  bool
	owner owner
	// onlyRun leaves what other submissions of the job have made, whose checkpoints may be gone on from one day.
	onlyRun bool
}

func newCommitter(ctx connector.WriterContext, root string, single bool) *committer {
	c := &committer{ctx: ctx, root: path.Clean(root), deep: !single, owner: ownerOf(ctx)}
	if single {
		c.root = path.Dir(c.root)
	}
	return c
}

// errGone is behind errors that another try cannot mend.
var errGone = errors.New("the rows cannot be committed any more")

// Commit implements connector.Committer.
func (c *committer) Commit(ctx context.Context, requests []connector.CommitRequest) []connector.Answer {
	answers := make([]connector.Answer, len(requests))
	dirs := map[string][]int{} // requests by folder
	for i, r := range requests {
		if ctx.Err() != nil {
			answers[i].Err = ctx.Err()
			continue
		}
		s, err := decodePart(r.Data)
		if err != nil {
			answers[i] = connector.Answer{Outcome: connector.CommitFailed, Err: err}
			continue
		}
		if answers[i] = c.one(s, r.Restored); answers[i].Err == nil {
			dirs[path.Dir(s.Final)] = append(dirs[path.Dir(s.Final)], i)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		// Also for what was visible before: whoever renamed it may not have lived long enough for this.
		if err := syncDir(c.ctx.FS, dir); err != nil {
			for _, i := range dirs[dir] {
				answers[i] = connector.Answer{Err: err}
			}
		}
	}
	return answers
}

// one commits a part. The name may still be lost in a crash.
func (c *committer) one(s partState, restored bool) connector.Answer {
	already, err := c.rename(s, restored)
	switch {
	case errors.Is(err, errGone):
		return connector.Answer{Outcome: connector.CommitFailed, Err: err}
	case err != nil:
		return connector.Answer{Err: err}
	}
	for _, old := range s.Old {
		c.forget(old)
	}
	if already {
		return connector.Answer{Outcome: connector.CommitAlready}
	}
	return connector.Answer{Outcome: connector.CommitDone}
}

// publish commits a part of a job without checkpoints.
func (c *committer) publish(s partState) error {
	if a := c.one(s, false); a.Err != nil {
		return a.Err
	}
	return syncDir(c.ctx.FS, path.Dir(s.Final))
}

// rename gives the part its final name; already is true if it had it. An error that is errGone stays for ever.
func (c *committer) rename(s partState, restored bool) (already bool, err error) {
	hidden, err := findHidden(c.ctx.FS, s.Stem)
	if errors.Is(err, fs.ErrNotExist) {
		return true, c.verify(s)
	}
	if err != nil {
		return false, fmt.Errorf("file: look for %s: %w", s.Stem, err)
	}
	if err := c.intact(s, hidden, restored); err != nil {
		return false, err
	}
	if !s.Replace {
		switch _, err := c.ctx.FS.Stat(s.Final); {
		case err == nil:
			if err := c.verify(s); err != nil {
				return false, err
			}
			return true, c.ctx.FS.Remove(hidden.Path)
		case !errors.Is(err, fs.ErrNotExist):
			return false, fmt.Errorf("file: look for %s: %w", s.Final, err)
		}
	}
	err = c.ctx.FS.Rename(hidden.Path, s.Final)
	if errors.Is(err, fs.ErrNotExist) {
		return true, c.verify(s) // an attempt that does not know yet that it is over was faster
	}
	if err != nil {
		err = fmt.Errorf("file: commit %s: %w", s.Final, err)
	}
	return false, err
}

// intact checks that a hidden file is as it was prepared; its bytes are read only if it comes from a checkpoint, since
// until then nobody knew of it.
func (c *committer) intact(s partState, hidden connector.FileInfo, restored bool) error {
	if hidden.Size != s.Size {
		return fmt.Errorf("%w: %s has %d bytes and was prepared with %d (%s)", errGone, hidden.Path, hidden.Size, s.Size, s.text())
	}
	if !restored {
		return nil
	}
	crc, short, err := sum(c.ctx.FS, hidden.Path, s.Size, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // renamed meanwhile: the caller finds out
	}
	if err != nil {
		return fmt.Errorf("file: read %s: %w", hidden.Path, err)
	}
	if short || crc != s.CRC {
		return fmt.Errorf("%w: %s has other bytes than were prepared (%s)", errGone, hidden.Path, s.text())
	}
	return nil
}

// verify checks that the final file holds the rows of a part whose hidden file is gone.
func (c *committer) verify(s partState) error {
	final, err := c.ctx.FS.Stat(s.Final)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: neither %s nor %s is there (%s): somebody has removed it", errGone, s.Stem+pending, s.Final, s.text())
	}
	if err != nil {
		return fmt.Errorf("file: look for %s: %w", s.Final, err)
	}
	crc, short, err := sum(c.ctx.FS, s.Final, s.Size, nil)
	if err != nil {
		return fmt.Errorf("file: read %s: %w", s.Final, err)
	}
	if short || crc != s.CRC {
		return fmt.Errorf("%w: %s is there, but it does not hold the rows that were prepared for it (%s): it was replaced", errGone, s.Final, s.text())
	}
	if final.Size > s.Size {
		if s.Replace {
			return fmt.Errorf("%w: %s has %d bytes more than were prepared for it (%s): it was replaced", errGone, s.Final, final.Size-s.Size, s.text())
		}
		warnTwice(c.ctx, s, final)
	}
	return nil
}

// forget removes the hidden file of a stem. What stays does no harm.
func (c *committer) forget(stem string) {
	info, err := findHidden(c.ctx.FS, stem)
	if err == nil {
		err = c.ctx.FS.Remove(info.Path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		logOf(c.ctx).Warn("a file that is not needed any more could not be removed", "file", stem, "err", err)
	}
}

// Sweep implements connector.Sweeper. It removes hidden files that earlier attempts of this sink have made in vain: those of
// subtasks that map to this one, but for what the restored checkpoint lists, which goes with the commit of its rows, and for
// what savepoints list.
func (c *committer) Sweep(ctx context.Context, restored *connector.Restored) error {
	listed := map[string]bool{}
	if restored == nil {
		restored = &connector.Restored{}
		c.onlyRun = true
	}
	data := slices.Clone(restored.AllState)
	for _, r := range restored.AllCommittables {
		data = append(data, r.Data)
	}
	for _, b := range data {
		s, err := decodePart(b)
		if err != nil {
			return err
		}
		listed[s.Stem] = true
		for _, old := range s.Old {
			listed[old] = true
		}
	}
	return c.sweep(ctx, c.root, listed)
}

func (c *committer) sweep(ctx context.Context, dir string, listed map[string]bool) error {
	infos, err := c.ctx.FS.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range infos {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if i.Dir {
			if c.deep {
				errs = append(errs, c.sweep(ctx, i.Path, listed))
			}
			continue
		}
		stem, o, ending, ok := parseHidden(i.Path)
		mine := ok && (o.run == c.owner.run || !c.onlyRun) && o.sink == c.owner.sink && o.subtask%max(c.ctx.Parallelism, 1) == c.ctx.Subtask
		if !mine || o.attempt == c.owner.attempt || ending == savepoint || listed[stem] {
			continue
		}
		if err := c.ctx.FS.Remove(i.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Close implements connector.Committer.
func (c *committer) Close() error { return nil }
