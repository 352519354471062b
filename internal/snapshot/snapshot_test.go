package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/testkit/golden"
	"github.com/weir-stream/weir/internal/testkit/seeds"
)

var forms = []snapshot.Form{{}, {Compression: snapshot.CompressS2}, {Compression: snapshot.CompressZstd}}

func object(t testing.TB, entries []snapshot.Entry, f snapshot.Form) ([]byte, snapshot.Summary) {
	t.Helper()
	var b bytes.Buffer
	w := snapshot.NewWriter(&b, f)
	for i := range entries {
		if err := w.Add(&entries[i]); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), sum
}

func print(e *snapshot.Entry) string {
	user := "-"
	if e.UserKey != nil {
		user = fmt.Sprintf("%q", e.UserKey)
	}
	if e.Removed {
		return fmt.Sprintf("group=%d state=%d hash=%016x key=%q ns=%q user=%s removed", e.Group(), e.State, e.Hash, e.Key, e.Namespace, user)
	}
	return fmt.Sprintf("group=%d state=%d hash=%016x key=%q ns=%q user=%s value=%q", e.Group(), e.State, e.Hash, e.Key, e.Namespace, user, e.Value)
}

func lines(t testing.TB, b []byte, groups keygroup.Range) (out []string) {
	t.Helper()
	r, err := snapshot.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Each(groups, func(e *snapshot.Entry) error { out = append(out, print(e)); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func random(r *rand.Rand, n int) []snapshot.Entry {
	var out []snapshot.Entry
	for range n {
		e := snapshot.Entry{State: r.Uint32N(4), Key: make([]byte, r.IntN(12)), Namespace: make([]byte, r.IntN(3))}
		for i := range e.Key {
			e.Key[i] = byte(r.Uint32())
		}
		e.Hash = xxh3.Hash(e.Key)
		if r.IntN(4) == 0 {
			e.Hash = r.Uint64()
		}
		for range 1 + r.IntN(3) { // of the same key: a list or map
			if r.IntN(2) == 0 {
				e.UserKey = make([]byte, r.IntN(5))
			} else {
				e.UserKey = nil
			}
			e.Value = bytes.Repeat([]byte{byte(n)}, r.IntN(2000))
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b snapshot.Entry) int { return int(a.Group()) - int(b.Group()) })
	return out
}

// The law: a range of a data object is the entries of the range, in the order in which they were added.
func TestRangesOfDataObject(t *testing.T) {
	seeds.Run(t, 4, func(t *testing.T, r *rand.Rand) {
		entries := random(r, r.IntN(1500))
		b, sum := object(t, entries, forms[r.IntN(len(forms))])
		if sum.Size != int64(len(b)) || sum.Entries != int64(len(entries)) || sum.CRC != crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) {
			t.Fatalf("summary %+v of %d bytes, %d entries", sum, len(b), len(entries))
		}
		for _, p := range []int{1, 2, 7} {
			for i := range p {
				groups := keygroup.RangeOf(i, p)
				var want []string
				for _, e := range entries {
					if groups.Contains(e.Group()) {
						want = append(want, print(&e))
					}
				}
				if got := lines(t, b, groups); !slices.Equal(got, want) {
					t.Fatalf("subtask %d of %d: %d entries, want %d", i, p, len(got), len(want))
				}
			}
		}
	})
}

// counting counts the bytes that are read.
type counting struct {
	*bytes.Reader
	n int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.n += len(p)
	return c.Reader.ReadAt(p, off)
}

func TestReadsOnlyItsRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var entries []snapshot.Entry
	for range 3000 {
		e := snapshot.Entry{Hash: r.Uint64(), Key: []byte("k"), Value: make([]byte, 1000)}
		for i := range e.Value {
			e.Value[i] = byte(r.Uint32())
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b snapshot.Entry) int { return int(a.Group()) - int(b.Group()) })
	b, _ := object(t, entries, forms[0])
	c := &counting{Reader: bytes.NewReader(b)}
	s, err := snapshot.NewReader(c, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Each(keygroup.RangeOf(3, 6), func(*snapshot.Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	// A sixth of 3 MB, one block of 256 KiB more at each end, and the index.
	if most := len(b)/6 + 2*(256<<10) + 4096; c.n > most {
		t.Errorf("%d bytes read of %d, at most %d expected", c.n, len(b), most)
	}
	stop := errors.New("stop")
	n := 0
	err = s.Each(keygroup.All(), func(*snapshot.Entry) error { n++; return stop })
	if n != 1 || !errors.Is(err, stop) {
		t.Errorf("stopped after %d entries, %v", n, err)
	}
}

func TestWriterRefuses(t *testing.T) {
	w := snapshot.NewWriter(&bytes.Buffer{}, snapshot.Form{})
	if err := w.Add(&snapshot.Entry{Hash: keygroup.Group(5).First()}); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(&snapshot.Entry{Hash: keygroup.Group(4).Last()}); errs.ClassOf(err) != errs.ClassBug {
		t.Errorf("a group out of order: %v", err)
	}
	if _, err := w.Close(); err == nil {
		t.Error("Close forgets the error")
	}
	w = snapshot.NewWriter(&bytes.Buffer{}, snapshot.Form{})
	if err := w.Add(&snapshot.Entry{Value: make([]byte, snapshot.EntryBytesMax+1)}); errs.CodeOf(err) != errs.CodeLimit {
		t.Errorf("an entry that is too large: %v", err)
	}
	full := errors.New("full")
	w = snapshot.NewWriter(failing{full}, snapshot.Form{})
	if _, err := w.Close(); !errors.Is(err, full) {
		t.Errorf("a sink that fails: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// Each single damaged byte of an object is found before an entry of its block is given out.
func TestDamage(t *testing.T) {
	for _, f := range forms {
		damage(t, f)
	}
}

func damage(t *testing.T, f snapshot.Form) {
	good, _ := object(t, random(rand.New(rand.NewPCG(2, 2)), 8), f)
	want := lines(t, good, keygroup.All())
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x40
		r, err := snapshot.NewReader(bytes.NewReader(bad), int64(len(bad)))
		if err == nil {
			n := 0
			err = r.Each(keygroup.All(), func(*snapshot.Entry) error { n++; return nil })
			if n > 0 && n < len(want) {
				t.Fatalf("byte %d: %d entries of a damaged block", i, n)
			}
		}
		if errs.CodeOf(err) != errs.CodeCorrupt {
			t.Fatalf("byte %d damaged: %v", i, err)
		}
	}
	for n := range good {
		if _, err := snapshot.NewReader(bytes.NewReader(good[:n]), int64(n)); err == nil {
			t.Fatalf("cut to %d bytes and accepted", n)
		}
	}
}

// The objects of version 1 must open for ever, and say the same. They are never written anew: a later version adds a
// directory of its own.
func TestGoldenVersion1(t *testing.T) {
	b, err := os.ReadFile("testdata/v1/data.hex")
	if err != nil {
		t.Fatal(err)
	}
	data, err := hex.DecodeString(strings.Join(strings.Fields(string(b)), ""))
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "v1/data.txt", strings.Join(lines(t, data, keygroup.All()), "\n")+"\n")
	m, err := os.ReadFile("testdata/v1/manifest")
	if err != nil {
		t.Fatal(err)
	}
	got, err := snapshot.DecodeManifest(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := got.Encode()
	if err != nil || !bytes.Equal(again, m) {
		t.Errorf("the manifest is written otherwise now: %v\n%s", err, again)
	}
	if want := sample(); fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", *want) {
		t.Errorf("got  %+v\nwant %+v", *got, *want)
	}
}

// The bytes of the smallest object, by hand from docs/format/snapshot.md. The record is too short to be compressed.
func TestBytes(t *testing.T) {
	key := []byte("k")
	h := xxh3.Hash(key)
	b, _ := object(t, []snapshot.Entry{{State: 3, Hash: h, Key: key, Value: []byte("v")}}, snapshot.Form{Compression: snapshot.CompressZstd})
	le := binary.LittleEndian
	crc := func(parts ...[]byte) uint32 {
		return crc32.Checksum(bytes.Join(parts, nil), crc32.MakeTable(crc32.Castagnoli))
	}
	g := uint64(h >> 49)
	varint := binary.AppendUvarint(nil, g)
	record := slices.Concat([]byte{1 | 2}, varint, []byte{3, 1, 'k', 0, 1, 'v'})
	lengths := le.AppendUint32(le.AppendUint32(nil, uint32(len(record))), uint32(len(record)))
	blk := slices.Concat(lengths, le.AppendUint32(nil, crc(lengths, record)), record)
	index := slices.Concat([]byte{1, byte(len(blk)), byte(len(record)), 1}, varint, varint)
	tail := le.AppendUint32(le.AppendUint64(le.AppendUint64(nil, uint64(16+len(blk))), 1), uint32(len(index)))
	want := slices.Concat([]byte("WEIRSNAP\x01\x00\x00\x00\x00\x00\x00\x00"), blk, index, tail,
		le.AppendUint32(nil, crc(index, tail)), []byte("SNAPWEIR"))
	if !bytes.Equal(b, want) {
		t.Errorf("got  %x\nwant %x", b, want)
	}
}

// container is an object around one block, with right checksums and lengths whatever the records and the index are.
func container(records, index []byte, entries uint64) []byte {
	le := binary.LittleEndian
	sum := func(parts ...[]byte) uint32 {
		return crc32.Checksum(bytes.Join(parts, nil), crc32.MakeTable(crc32.Castagnoli))
	}
	lengths := le.AppendUint32(le.AppendUint32(nil, uint32(len(records))), uint32(len(records)))
	blk := slices.Concat(lengths, le.AppendUint32(nil, sum(lengths, records)), records)
	if index == nil {
		index = []byte{1}
		for _, v := range []uint64{uint64(len(blk)), uint64(len(records)), entries, 0, keygroup.Count - 1} {
			index = binary.AppendUvarint(index, v)
		}
	}
	tail := le.AppendUint32(le.AppendUint64(le.AppendUint64(nil, uint64(16+len(blk))), entries), uint32(len(index)))
	return slices.Concat([]byte("WEIRSNAP\x01\x00\x00\x00\x00\x00\x00\x00"), blk, index, tail,
		le.AppendUint32(nil, sum(index, tail)), []byte("SNAPWEIR"))
}

// FuzzReader: no bytes panic, not even below right checksums; an object gives out all entries that it announces, or fails.
func FuzzReader(f *testing.F) {
	for _, form := range forms {
		b, _ := object(f, random(rand.New(rand.NewPCG(3, 3)), 40), form)
		f.Add(b, []byte{}, uint64(0))
	}
	f.Add([]byte{}, []byte{3, 0x80, 1, 3, 1, 'k', 0, 1, 'v'}, uint64(1))
	f.Add([]byte{1, 21, 9, 1, 0, 5}, []byte{1, 2, 3}, uint64(1))
	f.Fuzz(func(t *testing.T, whole, records []byte, entries uint64) {
		for _, b := range [][]byte{whole, container(records, nil, entries), container(records, append([]byte{}, whole...), entries)} {
			r, err := snapshot.NewReader(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				continue
			}
			var n int64
			err = r.Each(keygroup.All(), func(*snapshot.Entry) error { n++; return nil })
			if err == nil && n != r.Entries() {
				t.Fatalf("%d entries, %d announced", n, r.Entries())
			}
		}
	})
}

// What stands below right checksums is checked too: the records of a foreign or faulty writer.
func TestForeignRecords(t *testing.T) {
	key := []byte("k")
	h := xxh3.Hash(key)
	g := binary.AppendUvarint(nil, uint64(h>>49))
	first := slices.Concat([]byte{3}, g, []byte{3, 1, 'k', 0, 1, 'v'})
	for _, c := range []struct {
		what    string
		records []byte
		entries uint64
		good    bool
	}{
		{"one record", first, 1, true},
		{"and one of the same key", slices.Concat(first, []byte{8 | 16, 0, 0}), 2, true},
		{"no group in the first", []byte{2, 3, 1, 'k', 0, 1, 'v'}, 1, false},
		{"the same as nothing", []byte{8, 0}, 1, false},
		{"an unknown flag", slices.Concat(first, []byte{32, 1, 'k', 0, 0}), 2, false},
		{"the same key, another state", slices.Concat(first, []byte{8 | 2, 4, 0}), 2, false},
		{"another group than the hash says", []byte{3, byte(h>>49) ^ 1, 3, 1, 'k', 0, 1, 'v'}, 1, false},
		{"cut in the value", first[:len(first)-1], 1, false},
		{"cut in the hash", slices.Concat(first, []byte{4, 1, 2, 3}), 2, false},
		{"a group out of range", []byte{3, 0x80, 0x80, 2, 3, 0, 0, 0}, 1, false},
		{"groups that fall", slices.Concat(first, []byte{1 | 4, 0}, make([]byte, 8), []byte{0, 0, 0}), 2, false},
		{"more than announced", slices.Concat(first, []byte{8, 0}), 1, false},
	} {
		b := container(c.records, nil, c.entries)
		r, err := snapshot.NewReader(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			err = r.Each(keygroup.All(), func(*snapshot.Entry) error { return nil })
		}
		if (err == nil) != c.good {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
