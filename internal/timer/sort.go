package timer

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/weir-stream/weir/internal/keygroup"
)

// entry stands for a record of a bucket while it is sorted: the time inside the bucket (6 bits) and the top 58 bits of
// the hash decide nearly always, without a look at the record.
type entry struct {
	k   uint64
	ref recordRef
}

// recordRef finds a record in a list of chunks: which chunk, where in it in units of 8 bytes, and in the lowest bit
// whether it deletes. A younger record of a log has a larger reference.
type recordRef uint64

func refOf(chunk, off int, r record) recordRef {
	ref := recordRef(chunk<<refBits|off/8) << 1
	if r.deletes() {
		ref |= 1
	}
	return ref
}

const refBits = 24

func entryKey(t int64, hash uint64) uint64 {
	return uint64(t&(bucketMillis-1))<<(64-bucketBits) | hash>>bucketBits
}

// listing is a log laid open for random access.
type listing struct {
	chunks [][]byte
	last   int // bytes in use of the last chunk
}

// open lists the chunks of c, as far as c knows of them: it may have grown since c was noted.
func (l *listing) open(s *slab, c chain) {
	l.last = int(c.used)
	l.chunks = l.chunks[:0]
	for r := c.head; r != 0; {
		b := s.chunk(r)
		l.chunks = append(l.chunks, b)
		if r == c.tail {
			break
		}
		r = chunkRef(binary.LittleEndian.Uint32(b))
	}
}

func (l *listing) record(r recordRef) record {
	r >>= 1
	return record(l.chunks[r>>refBits][r&(1<<refBits-1)*8:])
}

// entries appends an entry for every record.
func (l *listing) entries(es []entry) []entry {
	for i, b := range l.chunks {
		used := l.used(i)
		for off := chunkHead; off < used; {
			r := record(b[off:])
			es = append(es, entry{entryKey(r.time(), r.hash()), refOf(i, off, r)})
			off += r.size()
		}
	}
	return es
}

// entriesIn is entries for the keys of some groups.
func (l *listing) entriesIn(es []entry, groups keygroup.Range) []entry {
	for i, b := range l.chunks {
		used := l.used(i)
		for off := chunkHead; off < used; {
			r := record(b[off:])
			if groups.ContainsHash(r.hash()) {
				es = append(es, entry{entryKey(r.time(), r.hash()), refOf(i, off, r)})
			}
			off += r.size()
		}
	}
	return es
}

// used returns the bytes in use of chunk i. The header of the last one does not say.
func (l *listing) used(i int) int {
	if i == len(l.chunks)-1 {
		return l.last
	}
	return int(binary.LittleEndian.Uint32(l.chunks[i][4:]))
}

// sortEntries sorts es as the timers fire, and the records of one timer by age. scratch is as long as es.
func (l *listing) sortEntries(es, scratch []entry) {
	l.sortDigit(es, scratch, 64)
}

// radixMin is the length below which comparing is cheaper than distributing.
const radixMin = 96

// sortDigit sorts es, which agree in all bits of k from top on.
func (l *listing) sortDigit(es, scratch []entry, top int) {
	if len(es) < radixMin || top < 8 {
		slices.SortFunc(es, l.compare)
		return
	}
	var ends [256]int
	shift := top - 8
	for i := range es {
		ends[uint8(es[i].k>>shift)]++
	}
	sum := 0
	for d, n := range ends {
		ends[d] = sum
		sum += n
	}
	starts := ends
	for _, e := range es {
		d := uint8(e.k >> shift)
		scratch[ends[d]] = e
		ends[d]++
	}
	copy(es, scratch[:len(es)])
	for d := range starts {
		if a, b := starts[d], ends[d]; b-a > 1 {
			l.sortDigit(es[a:b], scratch[a:b], shift)
		}
	}
}

func (l *listing) compare(a, b entry) int {
	if a.k != b.k {
		return cmp.Compare(a.k, b.k)
	}
	if c := l.record(a.ref).compare(l.record(b.ref)); c != 0 {
		return c
	}
	return cmp.Compare(a.ref, b.ref)
}

// resolve keeps, of the sorted entries, the youngest of each timer if it registers.
func (l *listing) resolve(es []entry) []entry {
	live := es[:0]
	for i, e := range es {
		if i+1 < len(es) && es[i+1].k == e.k && l.record(e.ref).compare(l.record(es[i+1].ref)) == 0 {
			continue
		}
		if e.ref&1 == 0 {
			live = append(live, e)
		}
	}
	return live
}
