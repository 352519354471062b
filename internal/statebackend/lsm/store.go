package lsm

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	sstableblock "github.com/cockroachdb/pebble/v2/sstable/block"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/statebackend"
)

// Config says where the states of a process are and what memory they may use.
type Config struct {
	// FS holds the files.
	FS fs.FS
	// Dir is where the Store makes its directory. Others may make theirs beside it.
	Dir string
	// Cache bounds the memory of all cached rows and blocks, in bytes.
	Cache int64
	// Log is told what goes wrong in the background. May be nil.
	Log *slog.Logger
}

// Store is what the lsm states of a process share. Its methods may be called from any goroutine.
type Store struct {
	cfg    Config
	dir    string
	lock   io.Closer // nil if the file system has no locks
	blocks *pebble.Cache
	files  *pebble.FileCache
	rows   int64 // budget of all caches of rows
	open   atomic.Int64
	number atomic.Int64
	once   sync.Once
}

const (
	dirPrefix = "weir-state-"
	lockName  = "LOCK"
	// leastRows is the budget of a backend's rows however many there are.
	leastRows = 1 << 20
	openFiles = 4096
	// Pebble takes its memtables out of the cache of blocks, which has to hold the indices and filters of all tables besides.
	leastMemTable = 1 << 20
	mostMemTable  = 16 << 20
	// targetFile is the size of a table in the level below the first; each level further down has twice that.
	targetFile = 8 << 20
)

// blockShare is how much of the budget the cache of blocks has; rows have the rest.
func blockShare(cache int64) int64 { return cache * 5 / 16 }

// Open makes a directory, after it has removed those of processes that are dead.
func Open(cfg Config) (*Store, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := cfg.FS.MkdirAll(cfg.Dir); err != nil {
		return nil, errs.Wrap(err, errs.CodeIO, errs.ClassFailTask, cfg.Dir, "the directory of states cannot be made")
	}
	s := &Store{cfg: cfg, rows: cfg.Cache - blockShare(cfg.Cache)}
	s.sweep()
	if err := s.makeDir(); err != nil {
		return nil, errs.Wrap(err, errs.CodeIO, errs.ClassFailTask, cfg.Dir, "the directory of states cannot be made")
	}
	s.blocks = pebble.NewCache(blockShare(cfg.Cache))
	s.files = pebble.NewFileCache(4, openFiles)
	return s, nil
}

// sweep removes the directories whose owners are dead: nobody holds their locks.
func (s *Store) sweep() {
	locker, ok := s.cfg.FS.(fs.Locker)
	if !ok {
		return
	}
	entries, err := s.cfg.FS.ReadDir(s.cfg.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := path.Join(s.cfg.Dir, e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), dirPrefix) {
			continue
		}
		lock, err := locker.Lock(path.Join(dir, lockName))
		if err != nil {
			continue
		}
		if err := fs.RemoveAll(s.cfg.FS, dir); err != nil {
			s.cfg.Log.Warn("the state of a dead process cannot be removed", "dir", dir, "err", err)
		}
		_ = lock.Close()
	}
}

// makeDir makes and locks a directory that nobody else has.
func (s *Store) makeDir() error {
	locker, _ := s.cfg.FS.(fs.Locker)
	for n := range 1 << 16 {
		dir := path.Join(s.cfg.Dir, fmt.Sprint(dirPrefix, n))
		if _, err := s.cfg.FS.Stat(dir); err == nil {
			continue
		}
		if err := s.cfg.FS.MkdirAll(dir); err != nil {
			return err
		}
		if locker == nil {
			s.dir = dir
			return nil
		}
		name := path.Join(dir, lockName)
		lock, err := locker.Lock(name)
		switch {
		case errors.Is(err, fs.ErrLocked) || errors.Is(err, fs.ErrNotExist):
			continue // another process was faster, or took it for one of the dead
		case err != nil:
			return err
		}
		if _, err := s.cfg.FS.Stat(name); err != nil {
			_ = lock.Close()
			continue
		}
		s.dir, s.lock = dir, lock
		return nil
	}
	return fmt.Errorf("every name is taken")
}

// Backend opens an empty backend.
func (s *Store) Backend(cfg statebackend.Config) (*Backend, error) {
	dir := path.Join(s.dir, fmt.Sprintf("db-%d", s.number.Add(1)))
	if err := s.cfg.FS.MkdirAll(dir); err != nil {
		return nil, errs.Wrap(err, errs.CodeIO, errs.ClassFailTask, dir, "the state store cannot be opened")
	}
	s.open.Add(1)
	fail := &failure{}
	return openBackend(cfg, s.options(fail), s.cfg.FS, fail, dir, s.limit, func() {
		s.open.Add(-1)
		if err := fs.RemoveAll(s.cfg.FS, dir); err != nil {
			s.cfg.Log.Warn("the files of a state cannot be removed", "dir", dir, "err", err)
		}
	})
}

// limit is the budget of one backend's rows.
func (s *Store) limit() int64 { return max(s.rows/max(s.open.Load(), 1), leastRows) }

// Close removes the directory. No backend of the Store may be in use.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		s.files.Unref()
		s.blocks.Unref()
		err = fs.RemoveAll(s.cfg.FS, s.dir)
		if s.lock != nil {
			err = errors.Join(err, s.lock.Close())
		}
	})
	return err
}

func (s *Store) options(fail *failure) *pebble.Options {
	background := func(err error) {
		fail.set(errs.Wrap(err, errs.CodeIO, errs.ClassFailTask, "state store", "failed in the background"))
	}
	o := &pebble.Options{
		FS:         &disk{s.cfg.FS, fail},
		DisableWAL: true, Cache: s.blocks, FileCache: s.files,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                uint64(min(max(s.cfg.Cache/16, leastMemTable), mostMemTable)),
		MemTableStopWritesThreshold: 4,
		L0StopWritesThreshold:       24,
		LBaseMaxBytes:               64 << 20,
		TargetFileSizes:             [7]int64{targetFile},
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		Logger:                      logger{s.cfg.Log},
		EventListener: &pebble.EventListener{
			BackgroundError: background,
			DataCorruption:  func(info pebble.DataCorruptionInfo) { background(info.Details) },
		},
	}
	for i := range o.Levels {
		l := &o.Levels[i]
		// An index is one block, so that a read needs no second one.
		l.BlockSize, l.IndexBlockSize = 8<<10, 256<<10
		l.Compression = func() *sstableblock.CompressionProfile { return sstableblock.NoCompression }
		if i < len(o.Levels)-1 { // Pebble asks no filter of the last level for a single row
			l.FilterPolicy = bloom.FilterPolicy(10)
		}
	}
	return o
}

// logger passes on what Pebble says. It reports broken invariants of its own by Fatalf.
type logger struct{ log *slog.Logger }

func (l logger) Infof(string, ...any) {}

func (l logger) Errorf(format string, args ...any) {
	l.log.Warn("state store: " + fmt.Sprintf(format, args...))
}

func (l logger) Fatalf(format string, args ...any) {
	panic("state store: " + fmt.Sprintf(format, args...))
}
