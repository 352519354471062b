package bin_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/weir-stream/weir/internal/bin"
)

func TestUvarintAgreesWithTheStandardLibrary(t *testing.T) {
	for _, v := range []uint64{0, 1, 127, 128, 300, 1<<14 - 1, 1 << 14, 1<<63 - 1, 1 << 63, math.MaxUint64} {
		got := bin.AppendUvarint(nil, v)
		if want := binary.AppendUvarint(nil, v); !bytes.Equal(got, want) {
			t.Errorf("%d: % x, want % x", v, got, want)
		}
		if bin.UvarintLen(v) != len(got) {
			t.Errorf("UvarintLen(%d) = %d, want %d", v, bin.UvarintLen(v), len(got))
		}
		back, rest, err := bin.Uvarint(append(got, 9))
		if err != nil || back != v || len(rest) != 1 {
			t.Errorf("%d read back as %d, rest %d, %v", v, back, len(rest), err)
		}
	}
}

func TestUvarintRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []byte
		want error
	}{
		{"nothing", nil, bin.ErrShort},
		{"only continuation", []byte{0x80, 0x80}, bin.ErrShort},
		{"zero in two bytes", []byte{0x80, 0}, bin.ErrOverlong},
		{"65 bits", []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 2}, bin.ErrOverlong},
		{"eleven bytes", bytes.Repeat([]byte{0x80}, 11), bin.ErrOverlong},
	} {
		if _, rest, err := bin.Uvarint(c.in); !errors.Is(err, c.want) || len(rest) != len(c.in) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestBytesChecksTheLength(t *testing.T) {
	b, rest, err := bin.Bytes([]byte{2, 'a', 'b', 'c'})
	if err != nil || string(b) != "ab" || string(rest) != "c" || cap(b) != 2 {
		t.Fatalf("%q %q cap %d %v", b, rest, cap(b), err)
	}
	if _, _, err := bin.Bytes([]byte{3, 'a', 'b'}); !errors.Is(err, bin.ErrShort) {
		t.Fatalf("short: %v", err)
	}
	if s, _, err := bin.Text(bin.AppendString(nil, "")); err != nil || s != "" {
		t.Fatalf("empty: %q %v", s, err)
	}
}
