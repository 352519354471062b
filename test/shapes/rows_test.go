package shapes

import (
	"fmt"
	"maps"
	"math/big"
	"net/netip"
	"slices"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/types"
)

// ride is a row of every kind of field.
type ride struct {
	ID    int64
	Zone  string
	At    time.Time
	Fare  int64
	Dist  float64
	Note  *string
	Price *big.Rat
	Total big.Int
	From  netip.Addr
	Tags  []string
	Seats map[string]int32
	Took  time.Duration
	Tip   types.Null[int64]
	Spot  struct{ X, Y int16 }
}

const rideCount = 400

var start = time.Date(2024, 3, 9, 12, 0, 0, 0, time.UTC)

func newRide(i int64) ride {
	r := ride{ID: i, Zone: fmt.Sprintf("z%d", i%7), At: start.Add(time.Duration(i) * 10 * time.Minute), Fare: i * 37 % 101,
		Dist: float64(i) / 8, Price: big.NewRat(i, 7), From: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), Took: time.Duration(i) * time.Second}
	r.Total.Exp(big.NewInt(i), big.NewInt(9), nil)
	if i%3 != 0 {
		note := fmt.Sprint("note ", i)
		r.Note, r.Tags, r.Tip = &note, []string{"a", note}, types.Some(i)
	}
	if i%2 == 0 {
		r.Seats = map[string]int32{"front": int32(i), "back": -1}
	}
	r.Spot.X, r.Spot.Y = int16(i), int16(-i)
	return r
}

// text writes every field.
func (r ride) text() string {
	note := "nil"
	if r.Note != nil {
		note = *r.Note
	}
	var seats []string
	for _, k := range slices.Sorted(maps.Keys(r.Seats)) {
		seats = append(seats, fmt.Sprint(k, r.Seats[k]))
	}
	return fmt.Sprint(r.ID, r.Zone, r.At.UnixMilli(), r.Fare, r.Dist, note, r.Price, &r.Total, r.From, r.Tags, seats, r.Took, r.Tip, r.Spot)
}

// short is enough to know a ride.
func (r ride) short() string { return fmt.Sprintf("%d %s %d", r.ID, r.Zone, r.Fare) }

func allRides() []ride {
	rows := make([]ride, rideCount)
	for i := range rows {
		rows[i] = newRide(int64(i))
	}
	return rows
}

// lines is a text for each ride that has one.
func lines(f func(ride) []string) func() []string {
	return func() []string {
		var out []string
		for _, r := range allRides() {
			out = append(out, f(r)...)
		}
		return out
	}
}

// rides is the source of all rides in one subtask, so that those of a key stay in order.
func rides(env *weir.Env, p pipe) weir.Stream[ride] {
	*p.sources++
	return weir.From(env, p.in(fmt.Sprint("rides", *p.sources)), slice.Of(allRides()...),
		weir.EventTime(func(r ride) time.Time { return r.At })).Parallelism(1)
}

func byZone(env *weir.Env, p pipe) weir.KeyedStream[string, ride] {
	return rides(env, p).KeyBy(func(r ride) string { return r.Zone })
}
