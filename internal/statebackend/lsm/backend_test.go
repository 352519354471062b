package lsm

import (
	"testing"

	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/backendtest"
)

func testStore(t testing.TB, cache int64) *Store {
	t.Helper()
	s, err := Open(Config{FS: fs.NewMem(nil), Dir: "/scratch", Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func opener(t testing.TB, s *Store) backendtest.Open {
	return func(c statebackend.Config) statebackend.Keyed {
		b, err := s.Backend(c)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

func TestConformance(t *testing.T) {
	backendtest.Run(t, opener(t, testStore(t, 64<<20)))
}

// The same with a cache that holds next to nothing, lists of many chunks, maps that are cleared by one tombstone, and logs
// of changes in files.
func TestConformanceWithoutCache(t *testing.T) {
	s := testStore(t, 1<<20)
	backendtest.Run(t, func(c statebackend.Config) statebackend.Keyed {
		b := opener(t, s)(c).(*Backend)
		b.rows.limit = func() int64 { return 2000 }
		b.chunk, b.many = 100, 10
		b.rows.track.memory, b.rows.track.gather = 200, 20_000
		return b
	})
}
