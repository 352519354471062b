package codec_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/codec"
)

// bid is the row of the measured codecs: four integers, three strings, about 190 bytes.
type bid struct {
	Auction, Bidder, Price int64
	Channel, URL           string
	DateTime               int64
	Extra                  string
}

type point struct{ A, B, C, D int64 }

func bids(n int) []bid {
	rows := make([]bid, n)
	for i := range rows {
		rows[i] = bid{int64(i), int64(i) * 7, 100, "channel-" + fmt.Sprint(i%10),
			"https://www.nexmark.com/abcdefghij/item.htm?query=1&channel_id=" + fmt.Sprint(i), 1_600_000_000_000 + int64(i),
			"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789"}
	}
	return rows
}

func perRow(b *testing.B, rows int, bytes int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
	b.SetBytes(int64(bytes))
}

// BenchmarkBid compares the compiled codec with code written by hand for the same bytes.
func BenchmarkBid(b *testing.B) {
	const n = 1024
	c, rows := mustFor[bid](b), bids(n)
	enc := c.AppendRows(nil, rows, nil)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 2*len(enc))
		for b.Loop() {
			buf = c.AppendRows(buf[:0], rows, nil)
		}
		perRow(b, n, len(enc))
	})
	b.Run("encode-by-hand", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 2*len(enc))
		for b.Loop() {
			buf = buf[:0]
			for i := range rows {
				buf = appendBid(buf, &rows[i])
			}
		}
		perRow(b, n, len(enc))
	})
	out := make([]bid, 0, n)
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := c.DecodeRows(enc, n, out); err != nil {
				b.Fatal(err)
			}
		}
		perRow(b, n, len(enc))
	})
	b.Run("decode-by-hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			src := enc
			for i := range out[:n] {
				if src = readBid(src, &out[:n][i]); src == nil {
					b.Fatal("short")
				}
			}
		}
		perRow(b, n, len(enc))
	})
	b.Run("decode-copy", func(b *testing.B) {
		b.ReportAllocs()
		var v bid
		for b.Loop() {
			for src := enc; len(src) > 0; {
				src, _ = c.DecodeCopy(src, &v)
			}
		}
		perRow(b, n, len(enc))
	})
}

func appendBid(dst []byte, v *bid) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(v.Auction))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(v.Bidder))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(v.Price))
	dst = append(binary.AppendUvarint(dst, uint64(len(v.Channel))), v.Channel...)
	dst = append(binary.AppendUvarint(dst, uint64(len(v.URL))), v.URL...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(v.DateTime))
	return append(binary.AppendUvarint(dst, uint64(len(v.Extra))), v.Extra...)
}

func readBid(src []byte, v *bid) []byte {
	if len(src) < 24 {
		return nil
	}
	v.Auction = int64(binary.LittleEndian.Uint64(src))
	v.Bidder = int64(binary.LittleEndian.Uint64(src[8:]))
	v.Price = int64(binary.LittleEndian.Uint64(src[16:]))
	if v.Channel, src = readText(src[24:]); src == nil {
		return nil
	}
	if v.URL, src = readText(src); len(src) < 8 {
		return nil
	}
	v.DateTime = int64(binary.LittleEndian.Uint64(src))
	v.Extra, src = readText(src[8:])
	return src
}

func readText(src []byte) (string, []byte) {
	n, k := binary.Uvarint(src)
	if k <= 0 || n > uint64(len(src)-k) {
		return "", nil
	}
	return unsafe.String(unsafe.SliceData(src[k:]), int(n)), src[k+int(n):]
}

// BenchmarkFixed is a row without pointers, one at a time and as a batch, against a plain copy of the memory.
func BenchmarkFixed(b *testing.B) {
	const n = 1024
	c, rows := mustFor[point](b), make([]point, n)
	enc := c.AppendRows(nil, rows, nil)
	b.Run("decode-rows", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = c.DecodeRows(enc, n, rows[:0])
		}
		perRow(b, n, len(enc))
	})
	b.Run("decode-each", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			src := enc
			for i := range rows {
				src, _ = c.Decode(src, &rows[i])
			}
		}
		perRow(b, n, len(enc))
	})
	b.Run("memmove", func(b *testing.B) {
		for b.Loop() {
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&rows[0])), len(enc)), enc)
		}
		perRow(b, n, len(enc))
	})
	b.Run("encode-each", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 2*len(enc))
		for b.Loop() {
			buf = buf[:0]
			for i := range rows {
				buf = c.Append(buf, &rows[i])
			}
		}
		perRow(b, n, len(enc))
	})
}

func benchHash[K any](b *testing.B, name string, keys []K) {
	c := mustKey[K](b)
	out := make([]uint64, len(keys))
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.HashAll(keys, out)
		}
		perRow(b, len(keys), 0)
	})
}

func BenchmarkHash(b *testing.B) {
	const n = 1024
	ints, strs := make([]int64, n), make([]string, n)
	pairs := make([]struct{ A, B int32 }, n)
	mixed := make([]struct {
		Tail string
		Day  int64
	}, n)
	for i := range n {
		ints[i], strs[i], pairs[i].A = int64(i)*7919, fmt.Sprintf("N%05dAA", i), int32(i)
		mixed[i].Tail, mixed[i].Day = strs[i], ints[i]
	}
	benchHash(b, "int64", ints)
	benchHash(b, "string8", strs)
	benchHash(b, "two-int32", pairs)
	benchHash(b, "string-int64", mixed)
	b.Run("int64-library", func(b *testing.B) {
		var buf [8]byte
		var sum uint64
		for b.Loop() {
			for _, k := range ints {
				binary.BigEndian.PutUint64(buf[:], uint64(k)^1<<63)
				sum += xxh3.Hash(buf[:])
			}
		}
		perRow(b, n, 0)
		_ = sum
	})
	_ = codec.HashEncoded
}
