package paged

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weir-stream/weir/internal/statebackend"
)

// A large map that nobody reads in order grows by buckets, is read in order all the same, and shrinks to nothing.
func TestBuckets(t *testing.T) {
	pool := &Pool{}
	be := NewBackend(statebackend.Config{KeyWidth: 1}, pool)
	s, err := be.Map(statebackend.Descriptor{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	m := s.(*mapState)
	key := statebackend.Key{Hash: 1 << 60, Bytes: []byte{1}}
	const n = 20_000
	entry := func(i int) []byte { return fmt.Appendf(nil, "%06d", i*7919%n) }
	for round := range 2 {
		for i := range n {
			m.Put(key, nil, entry(i), entry(i+round))
		}
	}
	dir := m.tree(key, nil).load(0)
	if !dir.isBuckets() || dir.buckets() < n*20/bucketBytes || dir.buckets() > n/5 {
		t.Fatalf("root of level %d with %d buckets", dir.level(), dir.buckets())
	}
	largest := 0
	for i := range dir.buckets() {
		largest = max(largest, len(m.tree(key, nil).load(dir.bucketID(i))))
	}
	if largest > 4*bucketBytes {
		t.Errorf("a bucket of %d bytes", largest)
	}
	var got []string
	m.Range(key, nil, []byte("000100"), []byte("000104"), func(e, v []byte) bool {
		got = append(got, string(e)+"="+string(v))
		return true
	})
	// Entry i is 7919*i modulo n, and its value belongs to the entry after it.
	want := []string{"000100=008019", "000101=008020", "000102=008021", "000103=008022"}
	if !slices.Equal(got, want) {
		t.Errorf("range: %q", got)
	}
	for i := range n {
		if !m.Remove(key, nil, entry(i)) || m.Remove(key, nil, entry(i)) {
			t.Fatalf("entry %d was not there once", i)
		}
		if i == n-30 {
			if root := m.tree(key, nil).load(0); root.isBuckets() && root.buckets() > 200 {
				t.Errorf("%d buckets are left for 29 entries", root.buckets())
			}
		}
	}
	if m.roots.Len() != 0 || m.nodes.Len() != 0 || m.Count(key, nil) != 0 {
		t.Errorf("%d roots, %d nodes are left", m.roots.Len(), m.nodes.Len())
	}
	_ = be.Close()
	if s := pool.Stats(); s.InUse != 0 {
		t.Errorf("%d bytes are in use", s.InUse)
	}
}

// A map that is read in order is a tree.
func TestOrderedMapsAreTrees(t *testing.T) {
	be := NewBackend(statebackend.Config{KeyWidth: 1}, &Pool{})
	defer be.Close()
	s, err := be.Map(statebackend.Descriptor{Name: "m", Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	m := s.(*mapState)
	key := statebackend.Key{Hash: 1 << 60, Bytes: []byte{1}}
	for i := range 1000 {
		m.Put(key, nil, fmt.Appendf(nil, "%06d", i), []byte("value"))
	}
	if root := m.tree(key, nil).load(0); root.isBuckets() || root.level() == 0 {
		t.Errorf("root of level %d", root.level())
	}
}

// There are never more buckets than entries, however large these are.
func TestLargeEntries(t *testing.T) {
	be := NewBackend(statebackend.Config{KeyWidth: 1}, &Pool{})
	defer be.Close()
	s, err := be.Map(statebackend.Descriptor{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	m := s.(*mapState)
	key := statebackend.Key{Hash: 1 << 60, Bytes: []byte{1}}
	value := make([]byte, 10_000)
	for i := range 300 {
		m.Put(key, nil, fmt.Append(nil, i), value)
	}
	if dir := m.tree(key, nil).load(0); dir.buckets() > 300 {
		t.Errorf("%d buckets for 300 entries", dir.buckets())
	}
	for i := range 300 {
		if v, ok := m.Get(key, nil, fmt.Append(nil, i)); !ok || len(v) != len(value) {
			t.Fatalf("entry %d: %v, %d bytes", i, ok, len(v))
		}
	}
	m.Clear(key, nil)
	if m.nodes.Len() != 0 {
		t.Errorf("%d nodes are left", m.nodes.Len())
	}
}
