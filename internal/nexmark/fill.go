package nexmark

import (
	"encoding/binary"

	"github.com/weir-stream/weir/column"
)

// Schema describes the events' columns: event_type, person, auction, bid, of which but one of the last three is there in each row.
func Schema() *column.Schema {
	i64 := func(name string) column.Field { return column.Field{Name: name, Kind: column.Int64, Nullable: true} }
	str := func(name string) column.Field { return column.Field{Name: name, Kind: column.String, Nullable: true} }
	row := func(name string, fields ...column.Field) column.Field {
		return column.Field{Name: name, Kind: column.Struct, Nullable: true, Children: fields}
	}
	s, err := column.NewSchema(column.Field{Name: "event_type", Kind: column.Int32, Nullable: true},
		row("person", i64("id"), str("name"), str("emailAddress"), str("creditCard"), str("city"), str("state"), i64("dateTime"), str("extra")),
		row("auction", i64("id"), str("itemName"), str("description"), i64("initialBid"), i64("reserve"), i64("dateTime"), i64("expires"), i64("seller"), i64("category"), str("extra")),
		row("bid", i64("auction"), i64("bidder"), i64("price"), str("channel"), str("url"), i64("dateTime"), str("extra")))
	if err != nil {
		panic(err) // the fields are constants
	}
	return s
}

// Generator makes events. It belongs to one goroutine.
type Generator struct {
	p Params
	t *tables
	s stream
}

// New returns a generator.
func New(p Params) *Generator {
	p.PerSecond = max(p.PerSecond, 1)
	return &Generator{p: p, t: tablesOf(p.Seed), s: streamOf(p.Seed, 0)}
}

// Time returns the place of event i in event time.
func (g *Generator) Time(i uint64) int64 { return g.p.Base + int64(i*1000/g.p.PerSecond) }

// views are the places of a text column and its table's number there.
type views struct {
	v   *column.Vector
	out []column.View
}

func textOf(v *column.Vector, tables ...[]byte) views {
	for _, t := range tables {
		v.AddBuffer(t)
	}
	return views{v, v.Views()}
}

func numbers(v *column.Vector, child int) []int64 { return column.Values[int64](v.Child(child)) }

// Fill replaces what b, a batch of Schema, holds by events from, from+step, ..., n of them.
func (g *Generator) Fill(b *column.Batch, from, step uint64, n int) {
	b.Reset()
	for i := range 4 {
		b.Vector(i).Begin(n)
	}
	kinds := column.Values[int32](b.Vector(0))
	pv, av, bv := b.Vector(1), b.Vector(2), b.Vector(3)
	persons, auctions, bids := g.persons(pv), g.auctions(av), g.bids(bv)
	pv.ClearValidity()
	av.ClearValidity()
	bv.ClearValidity()
	i := from
	for k := range n {
		switch r := i % 50; {
		case r >= 4:
			kinds[k] = Bid
			bids.put(k, i)
			bv.SetValid(k)
		case r == 0:
			kinds[k] = Person
			persons.put(k, i)
			pv.SetValid(k)
		default:
			kinds[k] = Auction
			auctions.put(k, i, r)
			av.SetValid(k)
		}
		i += step
	}
	bids.seal(kinds)
	b.SetRows(n)
}

// word is draw pair j of the event whose first word is at base.
func word(base, j uint64) (even, odd uint64) {
	w := mix64(base + j*golden)
	return w >> 32, w & (1<<32 - 1)
}

func (g *Generator) base(i uint64) uint64 { return uint64(g.s) + (8*i+1)*golden }

// at is the event time of event i, jitter included.
func (g *Generator) at(i, base uint64) int64 {
	t := g.Time(i)
	if g.p.Jitter > 0 {
		_, d15 := word(base, 7)
		t -= int64(below(d15, uint64(g.p.Jitter)+1))
	}
	return t
}

func price(x uint64) int64 {
	j, f := x>>24, int64(x&(1<<24-1))
	return (prices[j] + (prices[j+1]-prices[j])*f>>24 + 128) >> 8
}

// coldPerson is the number of one of the last 1000 people, or of the next ten.
func coldPerson(e, x uint64) uint64 {
	n := e + 1
	a := min(n, 1000)
	return n - a + below(x, a+10)
}

func padding(size, target, x uint64) uint64 {
	if size > target {
		return 0
	}
	d := target - size
	v := (2*d + 5) / 10
	return d - v + below(x, 2*v)
}

// letters returns the View of a text of letters in a vector in which the table is buffer buf.
func (t *tables) lettersView(n, x uint64, buf int) column.View {
	off := below(x, letters-n)
	return column.NewView(t.letters[off:off+n], buf, int(off))
}

// wordsView is lettersView for words; blanks at both ends are left out.
func (t *tables) wordsView(n, x uint64, buf int) column.View {
	off := below(x, words-n)
	end := off + n
	for off < end && t.words[off] == ' ' {
		off++
	}
	for off < end && t.words[end-1] == ' ' {
		end--
	}
	return column.NewView(t.words[off:end], buf, int(off))
}

type personSink struct {
	g                  *Generator
	id, time           []int64
	name, city, state  views
	email, card, extra views
}

func (g *Generator) persons(v *column.Vector) *personSink {
	t := g.t
	return &personSink{g: g, id: numbers(v, 0), name: textOf(v.Child(1), t.fixed), email: textOf(v.Child(2)), card: textOf(v.Child(3)),
		city: textOf(v.Child(4), t.fixed), state: textOf(v.Child(5), t.fixed), time: numbers(v, 6), extra: textOf(v.Child(7), t.letters)}
}

func (s *personSink) put(k int, i uint64) {
	g, t, base := s.g, s.g.t, s.g.base(i)
	d0, d1 := word(base, 0)
	d2, d3 := word(base, 1)
	d4, d5 := word(base, 2)
	d6, d7 := word(base, 3)
	d8, d9 := word(base, 4)
	d10, d11 := word(base, 5)
	s.id[k], s.time[k] = int64(firstID+i/50), g.at(i, base)
	s.name.out[k] = t.names[below(d0, uint64(len(firstNames)))*uint64(len(lastNames))+below(d1, uint64(len(lastNames)))]
	user, host := 3+below(d2, 4), 3+below(d4, 2)
	at := user + 1 + host
	mail := s.email.v.Extend(k, int(at+4))
	off := below(d3, letters-user)
	copy(mail, t.letters[off:off+user])
	mail[user] = '@'
	off = below(d5, letters-host)
	copy(mail[user+1:], t.letters[off:off+host])
	copy(mail[at:], ".com")
	s.email.v.Seal(k)
	card := s.card.v.Extend(k, 19)
	eight(card, below(d6, 1e8))
	card[9] = ' '
	eight(card[10:], below(d7, 1e8))
	s.card.v.Seal(k)
	s.city.out[k] = t.cities[below(d8, uint64(len(cities)))]
	s.state.out[k] = t.states[below(d9, uint64(len(states)))]
	size := 8 + uint64(s.name.out[k].Len()) + at + 4 + uint64(s.city.out[k].Len()) + 19 + 2
	s.extra.out[k] = t.lettersView(padding(size, 200, d10), d11, 0)
}

// eight writes eight digits with a blank after four.
func eight(dst []byte, x uint64) {
	for i := 8; i >= 0; i-- {
		if i == 4 {
			dst[i] = ' '
			continue
		}
		dst[i] = '0' + byte(x%10)
		x /= 10
	}
}

type auctionSink struct {
	g                                   *Generator
	id, initial, reserve, time, expires []int64
	seller, category                    []int64
	name, description, extra            views
}

func (g *Generator) auctions(v *column.Vector) *auctionSink {
	t := g.t
	return &auctionSink{g: g, id: numbers(v, 0), name: textOf(v.Child(1), t.words), description: textOf(v.Child(2), t.words), initial: numbers(v, 3),
		reserve: numbers(v, 4), time: numbers(v, 5), expires: numbers(v, 6), seller: numbers(v, 7), category: numbers(v, 8), extra: textOf(v.Child(9), t.letters)}
}

func (s *auctionSink) put(k int, i, r uint64) {
	g, t, base, e := s.g, s.g.t, s.g.base(i), i/50
	d0, d1 := word(base, 0)
	d2, d3 := word(base, 1)
	d4, d5 := word(base, 2)
	d6, d7 := word(base, 3)
	d8, d9 := word(base, 4)
	d10, d11 := word(base, 5)
	s.id[k], s.time[k] = int64(firstID+3*e+r-1), g.at(i, base)
	s.name.out[k] = t.wordsView(3+below(d6, 17), d7, 0)
	s.description.out[k] = t.wordsView(3+below(d8, 97), d9, 0)
	s.initial[k] = price(d3)
	s.reserve[k] = s.initial[k] + price(d4)
	h := g.Time(i+1666) - g.Time(i)
	s.expires[k] = s.time[k] + 1 + int64(below(d5, uint64(max(2*h, 1))))
	s.seller[k] = int64(firstID + e/100*100)
	if below(d0, 4) == 0 {
		s.seller[k] = int64(firstID + coldPerson(e, d1))
	}
	s.category[k] = 10 + int64(below(d2, 5))
	size := 48 + uint64(s.name.out[k].Len()+s.description.out[k].Len())
	s.extra.out[k] = t.lettersView(padding(size, 500, d10), d11, 0)
}

type bidSink struct {
	g                            *Generator
	auction, bidder, price, time []int64
	channel, url, extra          views
}

func (g *Generator) bids(v *column.Vector) *bidSink {
	t := g.t
	return &bidSink{g: g, auction: numbers(v, 0), bidder: numbers(v, 1), price: numbers(v, 2), channel: textOf(v.Child(3), t.fixed),
		url: textOf(v.Child(4), t.fixed), time: numbers(v, 5), extra: textOf(v.Child(6), t.letters)}
}

func (s *bidSink) put(k int, i uint64) {
	g, t, base, e := s.g, s.g.t, s.g.base(i), i/50
	d0, d1 := word(base, 0)
	d2, d3 := word(base, 1)
	d4, d5 := word(base, 2)
	d6, _ := word(base, 3)
	last := 3*e + 2
	if d0>>31 != 0 {
		s.auction[k] = int64(firstID + last/100*100)
	} else {
		m := uint64(max(int64(last)-100, 0))
		s.auction[k] = int64(firstID + m + below(d1, last-m+11))
	}
	if d0>>29&3 != 0 {
		s.bidder[k] = int64(firstID + e/100*100 + 1)
	} else {
		s.bidder[k] = int64(firstID + coldPerson(e, d2))
	}
	s.price[k] = price(d3)
	c := below(d4, 10_000)
	if d0>>28&1 != 0 {
		c = 10_000 + below(d4, 4)
	}
	s.channel.out[k], s.url.out[k] = t.channels[c], t.urls[c]
	s.time[k] = g.at(i, base)
	// The first bytes of the text are a cache miss each; seal has many of them under way at once.
	n := 54 + below(d5, 28)
	s.extra.out[k] = column.View{A: n, B: below(d6, letters-n) << 32}
}

// seal completes the views of the bids' extra texts.
func (s *bidSink) seal(kinds []int32) {
	out, text := s.extra.out[:len(kinds)], s.g.t.letters
	for k, kind := range kinds {
		if kind == Bid {
			off := out[k].B >> 32
			out[k].A |= uint64(binary.LittleEndian.Uint32(text[off:off+4])) << 32
		}
	}
}

// AppendEncoded appends row k of a batch in the canonical encoding of events: the kind in one byte, then the fields, numbers and times as
// 8 bytes, texts as 4 bytes of length and their bytes, little endian.
func AppendEncoded(dst []byte, b *column.Batch, k int) []byte {
	kind := column.Values[int32](b.Vector(0))[k]
	dst = append(dst, byte(kind))
	v := b.Vector(1 + int(kind))
	for c := range v.Children() {
		if f := v.Child(c); f.Kind() == column.Int64 {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(column.Values[int64](f)[k]))
		} else {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(f.Text(k))))
			dst = append(dst, f.Text(k)...)
		}
	}
	return dst
}
