package nexmark

import (
	"math/bits"
	"strconv"
	"sync"

	"github.com/weir-stream/weir/column"
)

// Params choose a stream.
type Params struct {
	// Seed chooses the stream among all.
	Seed uint64
	// PerSecond is how many events there are in a second of event time; at least 1.
	PerSecond uint64
	// Base is the time of event 0 in ms since 1970.
	Base int64
	// Jitter is by how many ms at most an event's time lies before its place in the stream; below 2^31-1.
	Jitter int64
}

// Defaults are the parameters unless something else is asked for.
var Defaults = Params{Seed: 1, PerSecond: 10_000, Base: 1_436_918_400_000}

// Kinds of events.
const (
	Person  = 0
	Auction = 1
	Bid     = 2
)

const (
	golden   = 0x9E3779B97F4A7C15
	letters  = 1 << 20
	words    = 1 << 16
	channels = 10_004
	firstID  = 1000
)

var (
	firstNames = [...]string{"Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"}
	lastNames  = [...]string{"Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"}
	cities     = [...]string{"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne"}
	states     = [...]string{"AZ", "CA", "ID", "OR", "WA", "WY"}
)

func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// stream is a stream of random words.
type stream uint64

func streamOf(seed, c uint64) stream { return stream(mix64(mix64(seed) + c)) }

func (s stream) word(n uint64) uint64 { return mix64(uint64(s) + (n+1)*golden) }

func (s stream) draw(m uint64) uint64 {
	w := s.word(m / 2)
	if m&1 == 0 {
		return w >> 32
	}
	return w & (1<<32 - 1)
}

// below maps a draw to a number in 0 .. n-1.
func below(x, n uint64) uint64 { return x * n >> 32 }

// tables are the texts of a seed. Their bytes never change, so vectors refer to them.
type tables struct {
	letters, words []byte
	// fixed has names, cities, states, channels and URLs one behind the other; the views are of vectors in which it is buffer 0.
	fixed          []byte
	names          [len(firstNames) * len(lastNames)]column.View
	cities         [len(cities)]column.View
	states         [len(states)]column.View
	channels, urls [channels]column.View
}

var (
	cacheMu sync.Mutex
	cache   = map[uint64]*tables{}
)

// tablesOf returns the tables of a seed, which are kept as long as the process lives: 3 MB each.
func tablesOf(seed uint64) *tables {
	cacheMu.Lock()
	defer cacheMu.Unlock()
	t := cache[seed]
	if t == nil {
		t = makeTables(seed)
		cache[seed] = t
	}
	return t
}

func makeTables(seed uint64) *tables {
	t := &tables{letters: make([]byte, letters), words: make([]byte, words)}
	for s, j := streamOf(seed, 1), 0; j < letters; j++ {
		t.letters[j] = 'a' + byte(below(s.draw(uint64(j)), 26))
	}
	for s, j := streamOf(seed, 2), 0; j < words; j++ {
		t.words[j] = letterOr(' ', s.draw(uint64(j)))
	}
	add := func(v *column.View, text []byte) {
		off := len(t.fixed)
		t.fixed = append(t.fixed, text...)
		*v = column.NewView(t.fixed[off:], 0, off)
	}
	for i, f := range firstNames {
		for k, l := range lastNames {
			add(&t.names[i*len(lastNames)+k], []byte(f+" "+l))
		}
	}
	for i, c := range cities {
		add(&t.cities[i], []byte(c))
	}
	for i, s := range states {
		add(&t.states[i], []byte(s))
	}
	for c := range channels {
		add(&t.channels[c], []byte(channelName(c)))
	}
	s := streamOf(seed, 3)
	for c := range channels {
		add(&t.urls[c], urlOf(s, c))
	}
	return t
}

// letterOr is the letter of a draw, or in one case of 13 something else.
func letterOr(otherwise byte, draw uint64) byte {
	y := below(draw, 338)
	if y < 26 {
		return otherwise
	}
	return 'a' + byte(y%26)
}

func channelName(c int) string {
	if c < 10_000 {
		return "channel-" + strconv.Itoa(c)
	}
	return [...]string{"Google", "Facebook", "Baidu", "Apple"}[c-10_000]
}

func urlOf(s stream, c int) []byte {
	u := func(k int) uint64 { return s.draw(uint64(16*c + k)) }
	text := []byte("https://www.nexmark.com/")
	for p := range 3 {
		n := 3 + int(below(u(5*p), 2))
		for q := range n {
			text = append(text, letterOr('_', u(5*p+1+q)))
		}
		text = append(text, '/')
	}
	text = append(text, "item.htm?query=1"...)
	if c < 10_000 && below(u(15), 10) > 0 {
		id := int64(int32(bits.Reverse32(uint32(c))))
		text = append(text, "&channel_id="...)
		text = strconv.AppendInt(text, max(id, -id), 10)
	}
	return text
}
