package weir_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/window"
)

// A message holds several readings, whose times are known only when it has been taken apart.
func ExampleStream_WithEventTime() {
	env := weir.NewEnv("meters").Parallelism(1)
	readings := weir.From(env, "messages", slice.Of("0:3 5:4", "12:5 ?:9", "14:1")).
		FlatMap(func(message string, emit func([2]int)) {
			for _, field := range strings.Fields(message) {
				r := [2]int{-1}
				_, _ = fmt.Sscanf(field, "%d:%d", &r[0], &r[1]) // "?" leaves the second at -1
				emit(r)
			}
		}).
		WithEventTime(func(r [2]int) time.Time {
			if r[0] < 0 {
				return time.Time{}
			}
			return time.Date(2024, 3, 1, 12, 0, r[0], 0, time.UTC)
		})
	sums := readings.WindowAll("sums", window.Tumbling(10*time.Second)).Aggregate(weir.Sum(func(r [2]int) int { return r[1] }))
	for w := range sums.Collect(context.Background()) {
		fmt.Println(w.Start().Format(time.TimeOnly), w.Value)
	}
	// Output:
	// 12:00:00 7
	// 12:00:10 6
}

func TestWithEventTimeRefusesWhatOnlySourcesDo(t *testing.T) {
	env := weir.NewEnv("job")
	weir.From(env, "rows", slice.Of(1)).WithEventTime(func(int) time.Time { return time.Now() }, weir.Aligned(time.Minute), weir.OutOfOrder(-time.Second)).Gather()
	weir.From(env, "others", slice.Of(1)).WithEventTime((func(int) time.Time)(nil)).Gather()
	_, err := env.Explain()
	if err == nil {
		t.Fatal("the plan was not refused")
	}
	for _, want := range []string{"Aligned works at sources only", "OutOfOrder is negative", "function passed to", "time_test.go"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

// ride is a row of the program of the design.
type ride struct {
	PickedUpAt time.Time
	PickupZone string
	Distance   float64
}

func TestRidesByHour(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rides.csv")
	if err := os.WriteFile(path, []byte(`PickedUpAt,PickupZone,Distance
2024-03-01T12:00:10Z,harbour,1.5
2024-03-01T12:59:59Z,harbour,2
2024-03-01T12:30:00Z,airport,0
2024-03-01T12:59:58Z,airport,4
2024-03-01T13:00:00Z,harbour,1
`), 0o600); err != nil {
		t.Fatal(err)
	}
	env := weir.NewEnv("rides")
	rides := weir.From(env, "rides", file.CSV[ride](path),
		weir.EventTime(func(r ride) time.Time { return r.PickedUpAt }, weir.OutOfOrder(time.Hour), weir.Idle(time.Minute)))
	out := rides.
		Filter(func(r ride) bool { return r.Distance > 0 }).
		KeyBy(func(r ride) string { return r.PickupZone }).
		Window("hourly", window.Tumbling(time.Hour).AllowedLateness(time.Minute)).
		Aggregate(weir.Count[ride]()).
		Map(func(w weir.Windowed[string, int64]) string {
			return fmt.Sprintf("%s %s %d", w.Start().Format(time.Kitchen), w.Key, w.Value)
		}).
		Gather()
	if _, err := env.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(slices.Values(out.Rows()))
	if want := []string{"12:00PM airport 1", "12:00PM harbour 2", "1:00PM harbour 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A job that watches a folder reads files that come while it runs, each once, until its loop is left.
func TestFilesThatComeLater(t *testing.T) {
	dir := t.TempDir()
	put := func(name, rows string) {
		t.Helper()
		tmp := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(tmp, []byte("PickedUpAt,PickupZone,Distance\n"+rows), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	put("a.csv", "2024-03-01T12:00:10Z,first,1\n2024-03-01T12:00:11Z,second,1\n")
	env := weir.NewEnv("watch").Parallelism(2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	for r, err := range weir.From(env, "rides", file.CSV[ride](dir, file.Watch(10*time.Millisecond))).CollectErr(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.PickupZone)
		switch len(got) {
		case 2:
			put("b.csv", "2024-03-01T12:00:12Z,third,1\n")
		case 3:
			put("c.csv", "2024-03-01T12:00:13Z,fourth,1\n")
		}
		if len(got) == 4 {
			break
		}
	}
	slices.Sort(got)
	if want := []string{"first", "fourth", "second", "third"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
