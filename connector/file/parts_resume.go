package file

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/weir-stream/weir/connector"
)

// resume takes over the parts in progress that the checkpoint lists for this writer.
func (w *parts[T]) resume() error {
	if w.ctx.Restored == nil {
		return nil
	}
	for _, b := range w.ctx.Restored.State {
		s, err := decodePart(b)
		if err == nil {
			err = w.takeOver(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeOver copies what the checkpoint covers of a part, and goes on with the copy, or ends it if rows of this writer do not
// belong there.
func (w *parts[T]) takeOver(s partState) error {
	if s.Complete {
		w.finished = w.finished || s.Final == w.single
		return nil
	}
	from, err := w.source(s)
	if err != nil || from == "" {
		return err
	}
	p := &part{partState: s}
	p.Stem = w.owner.stem(s.Final)
	if p.Stem == s.Stem {
		return fmt.Errorf("file: this attempt has the name of the one before (%s): attempts must differ", s.Stem)
	}
	if from != s.Final {
		p.Old = append(slices.Clone(s.Old), s.Stem)
	}
	if err := w.create(p); err != nil {
		return err
	}
	crc, short, err := sum(w.ctx.FS, from, s.Size, p.file)
	switch {
	case err != nil:
		err = fmt.Errorf("file: copy %s: %w", from, err)
	case short || crc != s.CRC:
		err = fmt.Errorf("file: %s was changed since the checkpoint: its first %d bytes (%d rows) are other ones or fewer; put the file back, or restore another checkpoint", from, s.Size, s.Rows)
	}
	if err != nil {
		return errors.Join(err, p.drop(w.ctx.FS))
	}
	if w.open[p.Bucket] != nil || p.Kind != w.kind || !w.fits(p) {
		if err := p.end(w.pack); err != nil {
			return errors.Join(err, p.drop(w.ctx.FS))
		}
		w.ended = append(w.ended, p)
		return nil
	}
	w.open[p.Bucket] = p
	return nil
}

// fits reports whether rows of a part's bucket would go to the part's folder still.
func (w *parts[T]) fits(p *part) bool {
	if w.single != "" {
		return p.Final == w.single
	}
	return !p.Replace && path.Dir(p.Final) == path.Join(w.root, p.Bucket)
}

// source finds the file that holds the rows of a part in progress, "" if they are visible already.
func (w *parts[T]) source(s partState) (string, error) {
	info, err := findHidden(w.ctx.FS, s.Stem)
	if err == nil {
		return info.Path, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("file: look for %s: %w", s.Stem, err)
	}
	// An older checkpoint may be restored, or a savepoint, whose part was committed since by a later one.
	final, err := w.ctx.FS.Stat(s.Final)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("file: the checkpoint needs the first %d bytes (%d rows) of %s, and neither that file nor %s is there: put it back, or restore another checkpoint",
			s.Size, s.Rows, s.Stem+inProgress, s.Final)
	}
	if err != nil {
		return "", fmt.Errorf("file: look for %s: %w", s.Final, err)
	}
	crc, short, err := sum(w.ctx.FS, s.Final, s.Size, nil)
	if err != nil {
		return "", fmt.Errorf("file: read %s: %w", s.Final, err)
	}
	if short || crc != s.CRC {
		return "", fmt.Errorf("file: the checkpoint needs %d rows that were in %s; that file is gone, and %s does not begin with them: put it back, or restore another checkpoint",
			s.Rows, s.Stem+inProgress, s.Final)
	}
	if s.Replace {
		return s.Final, nil
	}
	if final.Size > s.Size {
		warnTwice(w.ctx, s, final)
	}
	return "", nil
}

// warnTwice says that a file holds more rows than the restored checkpoint covers.
func warnTwice(ctx connector.WriterContext, s partState, final connector.FileInfo) {
	logOf(ctx).Warn("the restored checkpoint is older than what was written: the file holds rows that come behind it and will be written again, to other files",
		"file", s.Final, "bytes", final.Size, "bytes of the checkpoint", s.Size)
}
