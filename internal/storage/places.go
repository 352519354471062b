package storage

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/objstore/local"
)

// Places opens the store that a directory names: that of execution.checkpointing.dir, or of a savepoint. It may be called
// from any goroutine.
type Places func(dir string) (objstore.Store, error)

// LocalPlaces opens directories of a file system, named by a path or a file: URL. writer is a name of the process and
// deployment (WriterName); each store gets a writer of its own, derived from it.
func LocalPlaces(fsys fs.FS, writer string) Places {
	var mu sync.Mutex
	opened := 0
	return func(dir string) (objstore.Store, error) {
		file, err := localDir(dir)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		opened++
		n := opened
		mu.Unlock()
		return local.New(fsys, file, fmt.Sprintf("%s_%d", writer, n))
	}
}

func localDir(dir string) (string, error) {
	bad := func(why string) error {
		return errs.New(errs.CodeConfigInvalid, errs.ClassUser, "directory "+dir, "%s", why)
	}
	file := dir
	if scheme, rest, ok := strings.Cut(dir, ":"); ok && !strings.ContainsAny(scheme, "/.") && len(scheme) > 1 {
		if scheme != "file" {
			return "", bad("only directories of this machine (a path, or file:///path) can be used")
		}
		file = "/" + strings.TrimLeft(rest, "/")
	}
	if file == "" {
		return "", bad("no directory is named")
	}
	return path.Clean(file), nil
}
