package codec_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/codec"
)

// amplification bounds what decoding may allocate for each byte of input: the largest element of everything in memory
// for its shortest encoding, with room for maps.
const amplification = 4096

// FuzzDecode: no bytes panic or allocate out of proportion; what decodes has one canonical encoding.
func FuzzDecode(f *testing.F) {
	c := mustFor[everything](f)
	v := fullValue()
	f.Add(c.Append(nil, &v))
	f.Add(c.Append(nil, &everything{}))
	f.Fuzz(func(t *testing.T, src []byte) {
		var v, own everything
		var rest []byte
		var err error
		if n := allocated(func() { rest, err = c.Decode(src, &v) }); n > 1<<20+uint64(len(src))*amplification {
			t.Fatalf("%d bytes allocated for %d", n, len(src))
		}
		after, errCopy := c.DecodeCopy(src, &own)
		if (err == nil) != (errCopy == nil) || err == nil && len(rest) != len(after) {
			t.Fatalf("Decode %d %v, DecodeCopy %d %v", len(rest), err, len(after), errCopy)
		}
		_, _, _ = c.DecodeRows(src, 3, nil)
		if err != nil {
			return
		}
		enc := c.Append(nil, &v)
		var again everything
		if rest, err := c.Decode(enc, &again); err != nil || len(rest) != 0 {
			t.Fatalf("encoded again: rest %d, %v", len(rest), err)
		}
		if twice := c.Append(nil, &again); !bytes.Equal(enc, twice) {
			t.Fatalf("% x\n% x", enc, twice)
		}
	})
}

// FuzzParseSchema: no bytes panic; what parses has the same binary form.
func FuzzParseSchema(f *testing.F) {
	f.Add(mustFor[everything](f).Schema().Append(nil))
	f.Add(mustFor[aligned](f).Schema().Append(nil))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, rest, err := codec.ParseSchema(src)
		if err != nil {
			return
		}
		if enc := s.Append(nil); !bytes.Equal(enc, src[:len(src)-len(rest)]) {
			t.Fatalf("%s: % x became % x", s, src, enc)
		}
		_ = s.String()
	})
}

// FuzzResolve: a schema and bytes from outside, read as types of ours, never panic, and reading again agrees.
func FuzzResolve(f *testing.F) {
	leg := legV1{"JFK", -7, map[string]string{"a": "b"}, 0.5, "N1", []stopV1{{-1, 255}}}
	full := fullValue()
	f.Add(mustFor[legV1](f).Schema().Append(nil), mustFor[legV1](f).Append(nil, &leg))
	f.Add(mustFor[everything](f).Schema().Append(nil), mustFor[everything](f).Append(nil, &full))
	f.Add(mustFor[aligned](f).Schema().Append(nil), mustFor[aligned](f).Append(nil, &aligned{1, 2, true}))
	f.Fuzz(func(t *testing.T, schema, src []byte) {
		s, _, err := codec.ParseSchema(schema)
		if err != nil {
			return
		}
		readAs[legV2](t, s, src)
		readAs[everything](t, s, src)
		readAs[aligned](t, s, src)
	})
}

func readAs[T any](t *testing.T, s *codec.Schema, src []byte) {
	c, err := codec.ForSchema[T](s)
	if err != nil {
		return
	}
	var v, own T
	var rest []byte
	if n := allocated(func() { rest, err = c.Decode(src, &v) }); n > 1<<20+uint64(len(src))*amplification {
		t.Fatalf("%d bytes allocated for %d", n, len(src))
	}
	after, errCopy := c.DecodeCopy(src, &own)
	if err == nil && (errCopy != nil || len(after) != len(rest)) {
		t.Fatalf("Decode %d, DecodeCopy %d %v", len(rest), len(after), errCopy)
	}
}

type wideKey struct {
	S string
	F float64
	A netip.Addr
	P netip.Prefix
	Q netip.AddrPort
	T time.Time
	B bool
	C complex64
	L [2]string
}

// FuzzKeyDecode: no bytes panic; what decodes as a key is the one encoding of that key.
func FuzzKeyDecode(f *testing.F) {
	c := mustKey[wideKey](f)
	full := wideKey{"a\x00b", -1.5, netip.MustParseAddr("fe80::1%eth0"), netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParseAddrPort("[::1%lo]:80"), time.Unix(5, 6), true, 1, [2]string{"x", "y"}}
	for _, k := range []wideKey{{}, full} {
		f.Add(c.Append(nil, &k))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var k wideKey
		if c.Decode(src, &k) != nil {
			return
		}
		if enc := c.Append(nil, &k); !bytes.Equal(enc, src) {
			t.Fatalf("% x is % x again", src, enc)
		}
		if c.Hash(&k) != codec.HashEncoded(src) {
			t.Fatal("hash of the key is not that of its encoding")
		}
	})
}
