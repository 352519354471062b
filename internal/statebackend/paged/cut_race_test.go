package paged

import (
	"bytes"
	"encoding/binary"
	"sync"
	"testing"
	"unsafe"
)

// A cut that ends while its table moves to other memory must not give that memory to others before the table has left it.
func TestCutEndsWhileMemoryMoves(t *testing.T) {
	pool := &Pool{}
	table := small(New(Config{Blobs: true, Pool: pool}))
	defer table.Close()
	cuts := make(chan *FrozenTable, 1)
	var others sync.WaitGroup
	others.Go(func() {
		for f := range cuts {
			f.Release()
			for class := uint8(minClass); class < 14; class++ { // who gets the memory next writes to it
				b := pool.getDirty(class)
				for i := range unsafe.Slice((*byte)(b), 1<<class) {
					*(*byte)(unsafe.Add(b, i)) = 0xff
				}
				pool.put(b, class)
			}
		}
	})
	value := func(i uint64, n int) []byte { return bytes.Repeat([]byte{byte(i)}, n) }
	key := func(i uint64) []byte { return binary.LittleEndian.AppendUint64(nil, i) }
	size := map[uint64]int{}
	for round := range uint64(4000) {
		cuts <- table.Cut()
		for k := range uint64(4) {
			i := (round*7 + k*13) % (20 + round/20)
			size[i] = 8 + int(round*31+k*17)%120
			table.PutBytes(hash64(i), key(i), value(i, size[i]))
		}
	}
	close(cuts)
	others.Wait()
	for i, n := range size {
		if b, ok := table.GetBytes(hash64(i), key(i)); !ok || !bytes.Equal(b, value(i, n)) {
			t.Fatalf("value %d is damaged", i)
		}
	}
}
