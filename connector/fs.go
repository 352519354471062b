package connector

import (
	"io"
	"time"
)

// FileSystem is what connectors see of the job's files. Paths are slash-separated.
type FileSystem interface {
	// Open opens a file for reading.
	Open(path string) (File, error)
	// Create makes a file for writing and empties one that exists; folders on the way are made.
	Create(path string) (WriteFile, error)
	// Rename moves a file in one step and replaces the target.
	Rename(from, to string) error
	// Remove deletes a file or an empty folder.
	Remove(path string) error
	// Stat describes a file or folder.
	Stat(path string) (FileInfo, error)
	// List describes what a folder holds, sorted by name.
	List(dir string) ([]FileInfo, error)
}

// FileInfo describes a file or folder.
type FileInfo struct {
	// Path is the whole path.
	Path string
	// Size is in bytes.
	Size int64
	// ModTime is when the content changed last.
	ModTime time.Time
	// Dir is true for folders.
	Dir bool
}

// File is a file open for reading.
type File interface {
	io.Reader
	io.ReaderAt
	io.Seeker
	io.Closer
}

// WriteFile is a file open for writing.
type WriteFile interface {
	io.Writer
	io.Closer
	// Sync makes what was written durable.
	Sync() error
}

// DirSyncer is implemented by file systems on which a name may be lost after a crash although the file was synced. SyncDir
// makes the names in a folder durable: files created, renamed and removed in it.
type DirSyncer interface {
	SyncDir(dir string) error
}
