package local

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/objstore"
)

// Check tries out whether objects whose names begin with dir and a slash can be written. It makes the directory, which stays,
// and a temporary file with a second name.
func (s *Store) Check(ctx context.Context, dir string) error {
	file, err := s.file(dir + "/check")
	if err != nil {
		return err
	}
	first := path.Join(path.Dir(file), fmt.Sprintf("%s%s-%d", tempPrefix, s.writer, s.temps.Add(1)))
	second := path.Join(path.Dir(file), fmt.Sprintf("%s%s-%d", tempPrefix, s.writer, s.temps.Add(1)))
	_, err = s.write(ctx, dir, first, objstore.Bytes(nil))
	if err == nil {
		err = s.fsys.Link(first, second)
	}
	for _, name := range []string{first, second} {
		if rmErr := s.fsys.Remove(name); rmErr != nil && err == nil && !errors.Is(rmErr, fs.ErrNotExist) {
			err = rmErr
		}
	}
	if err != nil {
		return s.explainWrite(err, file, dir)
	}
	return nil
}
