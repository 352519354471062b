package snapshot_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
)

// entries3 are entries that compress, of two keys.
func entries3() []snapshot.Entry {
	var out []snapshot.Entry
	for _, key := range []string{"a", "b"} {
		out = append(out, snapshot.Entry{State: 1, Hash: xxh3.Hash([]byte(key)), Key: []byte(key), Namespace: []byte{}, Value: bytes.Repeat([]byte(key+"-"), 40)})
	}
	slices.SortFunc(out, func(a, b snapshot.Entry) int { return int(a.Group()) - int(b.Group()) })
	return out
}

// The object of version 3 must open for ever, and say the same. What S2 makes of a block may change, so nobody compares that.
func TestGoldenVersion3(t *testing.T) {
	text, err := os.ReadFile("testdata/v3/data.hex")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	now, sum := object(t, entries3(), snapshot.Form{Compression: snapshot.CompressS2})
	if sum.Size >= sum.RawBytes+100 {
		t.Errorf("%d bytes of %d: nothing is compressed", sum.Size, sum.RawBytes)
	}
	for what, b := range map[string][]byte{"the object kept": kept, "the object of now": now} {
		if string(b[:16]) != "WEIRSNAP\x03\x00\x00\x00\x01\x00\x00\x00" {
			t.Errorf("%s begins with %q", what, b[:16])
		}
		var want []string
		for _, e := range entries3() {
			want = append(want, print(&e))
		}
		if got := lines(t, b, keygroup.All()); !slices.Equal(got, want) {
			t.Errorf("%s says\n%s", what, strings.Join(got, "\n"))
		}
	}
}

func TestVersion3Refuses(t *testing.T) {
	good, _ := object(t, entries3(), snapshot.Form{Compression: snapshot.CompressS2})
	for what, change := range map[string]func(b []byte){
		"an unknown compression": func(b []byte) { b[12] = 9 },
		"no compression":         func(b []byte) { b[12] = 0 },
		"an unknown flag":        func(b []byte) { b[13] = 2 },
		"a byte behind":          func(b []byte) { b[15] = 1 },
		"a later version":        func(b []byte) { b[8] = 4 },
		"another version's head": func(b []byte) { b[8] = 1 },
	} {
		bad := slices.Clone(good)
		change(bad)
		if _, err := snapshot.NewReader(bytes.NewReader(bad), int64(len(bad))); errs.CodeOf(err) != errs.CodeCorrupt {
			t.Errorf("%s: %v", what, err)
		}
	}
	plain := slices.Clone(good) // of version 1: the block is taken for zstd
	copy(plain[8:16], []byte{1, 0, 0, 0, 0, 0, 0, 0})
	r, err := snapshot.NewReader(bytes.NewReader(plain), int64(len(plain)))
	if err == nil {
		err = r.Each(keygroup.All(), func(*snapshot.Entry) error { return nil })
	}
	if errs.CodeOf(err) != errs.CodeCorrupt {
		t.Errorf("S2 read as zstd: %v", err)
	}
}

// Deltas are compressed in each way, and several objects come from one Writer.
func TestForms(t *testing.T) {
	for _, f := range forms {
		f.Delta = true
		w := snapshot.NewWriter(&bytes.Buffer{}, f)
		for n := range 3 {
			var b bytes.Buffer
			w.Reset(&b)
			gone := snapshot.Entry{State: 1, Hash: xxh3.Hash([]byte("k")), Key: []byte("k"), Removed: true}
			there := gone
			there.Removed, there.Value = false, bytes.Repeat([]byte{byte(n)}, 1000)
			for _, e := range []snapshot.Entry{gone, there} {
				if err := w.Add(&e); err != nil {
					t.Fatal(err)
				}
			}
			sum, err := w.Close()
			if err != nil || sum.Entries != 2 || sum.Size != int64(b.Len()) {
				t.Fatal(sum, err)
			}
			if got, want := lines(t, b.Bytes(), keygroup.All()), []string{print(&gone), print(&there)}; !slices.Equal(got, want) {
				t.Errorf("%+v, object %d: %q", f, n, got)
			}
		}
	}
}

// A value of zeros compresses further than a reader believes, and noise not at all: both are stored so that they can be read.
func TestExtremes(t *testing.T) {
	zeros := make([]byte, 16<<20)
	noise := make([]byte, 1<<20)
	for i, x := 0, uint64(1); i < len(noise); i++ {
		x = x*6364136223846793005 + 1442695040888963407
		noise[i] = byte(x >> 56)
	}
	for _, f := range forms {
		var entries []snapshot.Entry
		for i := range 60 { // blocks that do not pay, some that would, then zeros
			v := noise[i<<10:][:400<<10]
			if i > 40 {
				v = zeros[:300<<10]
			}
			entries = append(entries, snapshot.Entry{Key: []byte{byte(i)}, Hash: 1<<63 + uint64(i), Value: v})
		}
		entries = append(entries, snapshot.Entry{Key: []byte("z"), Hash: 1<<63 + 100, Value: zeros})
		b, sum := object(t, entries, f)
		if f.Compression != snapshot.CompressNone && sum.Size >= sum.RawBytes {
			t.Errorf("%+v: %d bytes of %d", f, sum.Size, sum.RawBytes)
		}
		r, err := snapshot.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(f, err)
		}
		i := 0
		if err := r.Each(keygroup.All(), func(e *snapshot.Entry) error {
			if want := &entries[i]; e.Hash != want.Hash || !bytes.Equal(e.Value, want.Value) {
				return fmt.Errorf("entry %d differs", i)
			}
			i++
			return nil
		}); err != nil || i != len(entries) {
			t.Error(f, i, err)
		}
	}
}
