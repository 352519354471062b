package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

func key(n int) statebackend.Key {
	b := binary.LittleEndian.AppendUint64(nil, uint64(n))
	return statebackend.Key{Hash: xxh3.Hash(b), Bytes: b}
}

// dirs lists what is in a real directory.
func dirs(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// What a process leaves that was killed is removed by the next one; what a living one has is not touched.
func TestDeadDirectoriesAreSwept(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, dirPrefix+"7", "db-1"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, dirPrefix+"7", "db-1", "000004.sst"), []byte("left"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "of somebody else"), 0o777); err != nil {
		t.Fatal(err)
	}
	conf := Config{FS: fs.Real{}, Dir: dir, Cache: 8 << 20}
	first, err := Open(conf)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Open(conf)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(dirs(t, dir)); got != "[of somebody else weir-state-0 weir-state-1]" {
		t.Errorf("there are %s", got)
	}
	b, err := second.Backend(statebackend.Config{KeyWidth: 8})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(dirs(t, second.dir)); got != "[LOCK]" {
		t.Errorf("a closed backend leaves %s", got)
	}
	for _, s := range []*Store{first, second} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(dirs(t, dir)); got != "[of somebody else]" {
		t.Errorf("closed stores leave %s", got)
	}
}

// writeMuch puts more than a memtable holds, so that Pebble flushes and compacts, and cuts in between. It returns what the
// backend says and what the cut says.
func writeMuch(b *Backend, n int) (error, error) {
	v, err := b.Value(statebackend.Descriptor{Name: "v"})
	if err != nil {
		return err, nil
	}
	value := make([]byte, 2000)
	var cutErr error
	for i := range n {
		v.Put(key(i), nil, value)
		v.Get(key(i/2), nil)
		if i%2000 == 1000 {
			parts, err := b.Cut()
			if err != nil {
				return b.Err(), err
			}
			cutErr = statebackend.Each(parts[0].Data, keygroup.All(), func(statebackend.Key, []byte, []byte, []byte) bool { return true })
			parts[0].Data.Release()
		}
	}
	_ = b.rows.db.Flush()
	return b.Err(), cutErr
}

// On a disk that is full, from any operation on, nothing panics and nothing waits: the backend says what happened, answers
// as if there were nothing, and closes.
func TestFullDisk(t *testing.T) {
	full := errors.New("no space left on device")
	var total int64
	run := func(from int64) (int64, error, error) {
		var ops atomic.Int64 // of this run; the compactions' goroutines count too
		faulty := fs.NewFaulty(fs.NewMem(nil), func(op fs.Op) error {
			ops.Add(1)
			switch op.Kind {
			case fs.OpCreate, fs.OpWrite, fs.OpOpenAppend, fs.OpMkdirAll, fs.OpRename, fs.OpLink:
				if from > 0 && op.N >= from {
					return full
				}
			}
			return nil
		})
		s, err := Open(Config{FS: faulty, Dir: "/scratch", Cache: 4 << 20})
		if err != nil {
			return ops.Load(), err, nil
		}
		defer s.Close()
		b, err := s.Backend(statebackend.Config{KeyWidth: 8})
		if err != nil {
			return ops.Load(), err, nil
		}
		err, cutErr := writeMuch(b, 6000)
		if err == nil {
			if cerr := b.Close(); cerr != nil {
				t.Errorf("from %d: Close: %v", from, cerr)
			}
			return ops.Load(), b.Err(), cutErr
		}
		v, _ := b.Value(statebackend.Descriptor{Name: "v"})
		if _, ok := v.Get(key(1), nil); ok {
			t.Errorf("from %d: a value is there after a failure", from)
		}
		f, ferr := b.Value(statebackend.Descriptor{Name: "fixed", Width: 8})
		if ferr != nil {
			t.Fatal(ferr)
		}
		if p, created := f.Ref(key(1), nil); p == nil || !created {
			t.Errorf("from %d: Ref after a failure: %v, %v", from, p, created)
		}
		if _, err := b.Cut(); err == nil {
			t.Errorf("from %d: a failed backend can be cut", from)
		}
		if cerr := b.Close(); cerr != nil {
			t.Errorf("from %d: Close after a failure: %v", from, cerr)
		}
		return ops.Load(), err, cutErr
	}
	total, err, cutErr := run(0)
	if err != nil || cutErr != nil {
		t.Fatalf("without a fault: %v, %v", err, cutErr)
	}
	step := max(total/12, 1)
	failed := 0
	for from := int64(1); from <= total; from += step {
		_, err, _ := run(from)
		if err == nil {
			continue // the operations that were left do not write
		}
		failed++
		if !errors.Is(err, full) || errs.ClassOf(err) != errs.ClassFailTask {
			t.Errorf("from %d: %v (class %v)", from, err, errs.ClassOf(err))
		}
	}
	if failed < 7 {
		t.Errorf("only %d of 12 runs met the full disk (%d operations)", failed, total)
	}
}

// A file that cannot be read any more is an error of the backend and of its cuts.
func TestUnreadableFile(t *testing.T) {
	var broken atomic.Bool
	faulty := fs.NewFaulty(fs.NewMem(nil), func(op fs.Op) error {
		if broken.Load() && op.Kind == fs.OpRead {
			return errors.New("input/output error")
		}
		return nil
	})
	s, err := Open(Config{FS: faulty, Dir: "/scratch", Cache: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := s.Backend(statebackend.Config{KeyWidth: 8})
	if err != nil {
		t.Fatal(err)
	}
	if err, _ := writeMuch(b, 6000); err != nil {
		t.Fatal(err)
	}
	parts, err := b.Cut()
	if err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	v, _ := b.Value(statebackend.Descriptor{Name: "v"})
	for i := 0; i < 6000 && b.Err() == nil; i++ {
		v.Get(key(i), nil)
	}
	if err := b.Err(); err == nil || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("Err is %v", err)
	}
	if err := statebackend.Each(parts[0].Data, keygroup.All(), func(statebackend.Key, []byte, []byte, []byte) bool { return true }); err == nil {
		t.Error("the cut says nothing")
	}
	parts[0].Data.Release()
	if err := b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// The cache of rows stays within its budget, whatever is done, and a cut is read while it does.
func TestBudget(t *testing.T) {
	s := testStore(t, 8<<20)
	b, err := s.Backend(statebackend.Config{KeyWidth: 8})
	if err != nil {
		t.Fatal(err)
	}
	v, err := b.Value(statebackend.Descriptor{Name: "v", Width: 64})
	if err != nil {
		t.Fatal(err)
	}
	limit, most := s.limit(), int64(0)
	var cuts []statebackend.Part
	for i := range 80_000 {
		p, _ := v.Ref(key(i*7919%40_000), nil)
		*(*uint64)(p)++
		most = max(most, b.Bytes())
		if i == 36_000 {
			if cuts, err = b.Cut(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if most < limit/2 {
		t.Fatalf("the cache had %d bytes of %d, so nothing was evicted", most, limit)
	}
	if most > limit+limit/3 {
		t.Errorf("the cache had %d bytes of %d", most, limit)
	}
	n := 0
	err = statebackend.Each(cuts[0].Data, keygroup.All(), func(statebackend.Key, []byte, []byte, []byte) bool { n++; return true })
	if err != nil || n != 36_001 {
		t.Errorf("the cut has %d keys (%v), want the first 36001", n, err)
	}
	cuts[0].Data.Release()
	v.All(func(_ statebackend.Key, _, value []byte) bool {
		if c := binary.LittleEndian.Uint64(value); c != 2 {
			t.Errorf("a key was counted %d times, want 2", c)
			return false
		}
		return true
	})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
