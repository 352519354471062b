package timer

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"

	"github.com/weir-stream/weir/internal/statebackend"
)

// A record is one Register or Delete:
//
//	+------+------+----------------------+----------------+-----+-----------+---------------+
//	| hash | time | size of key, deletes | namespace size | key | namespace | pad to 8      |
//	+------+------+----------------------+----------------+-----+-----------+---------------+
//	  u64    i64    u32, top bit           u32
type record []byte

const (
	recordHead = 24
	deletes    = 1 << 31
)

func recordBytes(key, ns []byte) int { return (recordHead + len(key) + len(ns) + 7) &^ 7 }

func writeRecord(b []byte, key statebackend.Key, ns []byte, t int64, op uint32) {
	binary.LittleEndian.PutUint64(b, key.Hash)
	binary.LittleEndian.PutUint64(b[8:], uint64(t))
	binary.LittleEndian.PutUint32(b[16:], uint32(len(key.Bytes))|op)
	binary.LittleEndian.PutUint32(b[20:], uint32(len(ns)))
	copy(b[recordHead:], key.Bytes)
	copy(b[recordHead+len(key.Bytes):], ns)
}

func (r record) hash() uint64 { return binary.LittleEndian.Uint64(r) }
func (r record) time() int64  { return int64(binary.LittleEndian.Uint64(r[8:])) }
func (r record) deletes() bool {
	return binary.LittleEndian.Uint32(r[16:])&deletes != 0
}
func (r record) keyBytes() int { return int(binary.LittleEndian.Uint32(r[16:]) &^ deletes) }
func (r record) nsBytes() int  { return int(binary.LittleEndian.Uint32(r[20:])) }

// size returns the bytes of the record, which is the first of what r holds.
func (r record) size() int { return (recordHead + r.keyBytes() + r.nsBytes() + 7) &^ 7 }

func (r record) key() []byte {
	end := recordHead + r.keyBytes()
	return r[recordHead:end:end]
}

func (r record) ns() []byte {
	from := recordHead + r.keyBytes()
	end := from + r.nsBytes()
	return r[from:end:end]
}

// compare orders two records as their timers fire. 0 means that they are about the same timer.
func (r record) compare(o record) int {
	if c := cmp.Compare(r.time(), o.time()); c != 0 {
		return c
	}
	if c := cmp.Compare(r.hash(), o.hash()); c != 0 {
		return c
	}
	if c := bytes.Compare(r.key(), o.key()); c != 0 {
		return c
	}
	return bytes.Compare(r.ns(), o.ns())
}

// fingerprint mixes what makes a timer itself. The key counts by its hash alone: keys whose hashes collide only blur an
// estimate.
func fingerprint(hash uint64, ns []byte, t int64) uint64 {
	h := fold(hash^0x8EBC6AF09C88C6E3, uint64(t)^0x589965CC75374CC3)
	for ; len(ns) >= 8; ns = ns[8:] {
		h = fold(h^binary.LittleEndian.Uint64(ns), 0x1D8E4E27C47D124F)
	}
	for _, c := range ns {
		h = (h ^ uint64(c)) * 0x100000001B3
	}
	return fold(h, 0x9E3779B97F4A7C15)
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
