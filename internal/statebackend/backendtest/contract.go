package backendtest

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/statebackend"
)

// names checks what opening promises.
func names(t *testing.T, open Open) {
	b := open(statebackend.Config{})
	defer b.Close()
	d := statebackend.Descriptor{Name: "total", Width: 8, Schema: []byte("int64")}
	first, err := b.Value(d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.Value(d)
	if err != nil || again != first {
		t.Fatalf("opening twice gives another state (error %v)", err)
	}
	refuse := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	_, err = b.List(d)
	refuse("a list under the name of a value", err)
	if errs.ClassOf(err) != errs.ClassUser {
		t.Errorf("class %v, want user: %v", errs.ClassOf(err), err)
	}
	_, err = b.Value(statebackend.Descriptor{Name: "total", Width: 8, Schema: []byte("float64")})
	refuse("another schema", err)
	_, err = b.Map(statebackend.Descriptor{})
	refuse("a state without a name", err)
	_, err = b.Map(statebackend.Descriptor{Name: "seen"})
	if err != nil {
		t.Fatal(err)
	}
	ds := b.Descriptors()
	if len(ds) != 2 || ds[0].Name != "total" || ds[0].Kind != statebackend.KindValue || ds[1].Name != "seen" ||
		ds[1].Kind != statebackend.KindMap || string(ds[0].Schema) != "int64" {
		t.Errorf("descriptors %+v", ds)
	}
	if b.Err() != nil {
		t.Errorf("Err: %v", b.Err())
	}
}

// batches checks that all places of one batch are valid together although the table grows in it, and that a key twice in
// a batch is one place.
func batches(t *testing.T, open Open) {
	for _, nsWidth := range []int{0, 4} {
		b := open(statebackend.Config{KeyWidth: 8})
		v, err := b.Value(statebackend.Descriptor{Name: "v", Width: 16, NamespaceWidth: nsWidth})
		if err != nil {
			t.Fatal(err)
		}
		bv, ok := v.(statebackend.BatchValue)
		if !ok {
			t.Skip("the backend has no batch form")
		}
		const distinct, n = 700, 1000
		var buf []byte
		hashes, keys, offsets := make([]uint64, n), make([]uint64, n), []uint32{0}
		for i := range n {
			keys[i] = uint64(i % distinct)
			buf = binary.LittleEndian.AppendUint64(buf, keys[i])
			offsets = append(offsets, uint32(len(buf)))
			hashes[i] = xxh3.Hash(buf[offsets[i]:])
		}
		ns := make([]byte, nsWidth)
		out, created := make([]unsafe.Pointer, n), make([]bool, n)
		for round := range 3 {
			if round%2 == 0 || nsWidth > 0 {
				bv.Refs(hashes, buf, offsets, ns, out, created)
			} else {
				bv.Refs64(hashes, keys, out, created)
			}
			for i, p := range out {
				if created[i] != (round == 0 && i < distinct) {
					t.Fatalf("round %d, row %d: created %v", round, i, created[i])
				}
				*(*uint64)(p)++
			}
		}
		for i := range distinct {
			got, _ := v.Get(statebackend.Key{Hash: hashes[i], Bytes: buf[offsets[i]:offsets[i+1]]}, ns)
			want := uint64(3)
			if i < n-distinct {
				want = 6
			}
			if binary.LittleEndian.Uint64(got) != want {
				t.Fatalf("key %d was counted %d times, want %d", i, binary.LittleEndian.Uint64(got), want)
			}
		}
		_ = b.Close()
	}
}

// closes checks that closing twice, and closing without use, is harmless.
func closes(t *testing.T, open Open) {
	b := open(statebackend.Config{})
	m, err := b.Map(statebackend.Descriptor{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		m.Put(statebackend.Key{Hash: uint64(i) << 50, Bytes: []byte{byte(i)}}, nil, []byte{byte(i >> 8), byte(i)}, []byte("v"))
	}
	if b.Bytes() <= 0 {
		t.Errorf("Bytes is %d with 1000 entries", b.Bytes())
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(statebackend.Config{}).Close(); err != nil {
		t.Fatal(err)
	}
}
