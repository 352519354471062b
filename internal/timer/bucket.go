package timer

import (
	"unsafe"

	"github.com/weir-stream/weir/internal/statebackend"
)

const (
	// bucketBits is the width of a bucket: 64 ms.
	bucketBits   = 6
	bucketMillis = 1 << bucketBits
	// sampleBits says that one timer of 64 is in the sample.
	sampleBits = 6
	// smallLog is the number of records below which a log is simply compacted each time it has doubled.
	smallLog = 64
)

// bucket is the log of the timers whose time lies in [number*64, number*64+64) ms. It is the value of a table.
type bucket struct {
	log   chain
	count uint32 // records in the log
	limit uint32 // count at which a small log is compacted
	all   uint32 // records of sampled timers in the log
	live  uint32 // sampled timers that are registered
	born  uint32 // number of cuts when the log began
	min   int64  // no timer is earlier
	// dirty is 1 when the log may hold more than one record of a timer, or a deletion.
	dirty uint64
}

const bucketBytes = int(unsafe.Sizeof(bucket{}))

func numberOf(t int64) int64 { return t >> bucketBits }

// numberHash spreads bucket numbers over the table.
func numberHash(n int64) uint64 {
	h := uint64(n) * 0x9E3779B97F4A7C15
	return h ^ h>>32
}

// lookup returns the bucket of the number to be read, or nil. It is valid until a bucket is made or removed.
func (s *Timers) lookup(number int64) *bucket {
	return (*bucket)(s.buckets.Lookup64(numberHash(number), uint64(number)))
}

// bucketOf returns the bucket of the number to be written, made if need be.
func (s *Timers) bucketOf(number int64) *bucket {
	if s.hot != nil && s.hotNumber == number {
		return s.hot
	}
	p, created := s.buckets.Upsert64(numberHash(number), uint64(number))
	b := (*bucket)(p)
	if created {
		b.limit, b.born = smallLog, s.cuts
		b.min = number<<bucketBits + bucketMillis - 1
		s.order.push(number)
	}
	s.hot, s.hotNumber = b, number
	return b
}

// removeBucket forgets the bucket, whose log has been dropped or taken over.
func (s *Timers) removeBucket(number int64) {
	s.hot = nil
	s.buckets.Delete64(numberHash(number), uint64(number))
}

// append adds a record to the bucket of t.
func (s *Timers) append(number int64, key statebackend.Key, ns []byte, t int64, op uint32) {
	b := s.bucketOf(number)
	writeRecord(s.slab.room(&b.log, recordBytes(key.Bytes, ns)), key, ns, t, op)
	b.count++
	b.dirty = 1
	if op == 0 {
		b.min = min(b.min, t)
	}
	if f := fingerprint(key.Hash, ns, t); f>>(64-sampleBits) == 0 {
		b.all++
		s.sampleOp(b, f, op)
	}
	switch {
	case b.count < b.limit:
	case b.count <= smallLog || b.all > 2*b.live+16:
		s.compact(number)
	}
}

// sampleOp keeps the exact set of the timers in the sample. The top bits of f are the ones that chose it.
func (s *Timers) sampleOp(b *bucket, f uint64, op uint32) {
	if op == 0 {
		if _, created := s.sample.Upsert64(f<<sampleBits, f); created {
			b.live++
		}
	} else if s.sample.Delete64(f<<sampleBits, f) {
		b.live--
	}
}

// compact rewrites the log of the bucket with one record for each registered timer, in the order of firing. It returns the
// bucket.
func (s *Timers) compact(number int64) *bucket {
	b := s.bucketOf(number) // to be written, while what came from lookup is not
	var l listing
	l.open(&s.slab, b.log)
	es := l.entries(s.scratch[0][:0])
	s.scratch[0] = es
	s.scratch[1] = grown(s.scratch[1], len(es))
	l.sortEntries(es, s.scratch[1])
	es = l.resolve(es)
	var log chain
	for _, e := range es {
		r := l.record(e.ref)
		copy(s.slab.room(&log, r.size()), r[:r.size()])
	}
	s.drop(&b.log, b.born)
	b.log, b.born = log, s.cuts
	b.count = uint32(len(es))
	b.limit = max(smallLog, 2*b.count)
	b.all = b.live
	b.dirty = 0
	b.min = number<<bucketBits + bucketMillis - 1
	if len(es) > 0 {
		b.min = l.record(es[0].ref).time()
	}
	return b
}

func grown(b []entry, n int) []entry {
	if cap(b) < n {
		return make([]entry, n+n/4)
	}
	return b[:n]
}

// numbers is a heap of the numbers of the buckets, smallest first. A bucket that is gone may still be in it.
type numbers []int64

const arity = 4

func (h *numbers) push(n int64) {
	*h = append(*h, n)
	a := *h
	i := len(a) - 1
	for i > 0 {
		p := (i - 1) / arity
		if a[p] <= n {
			break
		}
		a[i] = a[p]
		i = p
	}
	a[i] = n
}

func (h *numbers) pop() {
	a := *h
	n := a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	if len(a) == 0 {
		return
	}
	i := 0
	for {
		least := arity*i + 1
		if least >= len(a) {
			break
		}
		for c := least + 1; c < min(arity*i+1+arity, len(a)); c++ {
			if a[c] < a[least] {
				least = c
			}
		}
		if a[least] >= n {
			break
		}
		a[i] = a[least]
		i = least
	}
	a[i] = n
}
