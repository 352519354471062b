package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// truth is what a plain loop over the same orders finds: every line of every result, with how often it must be there: once.
type truth map[string]map[string]int

func truthOf(rows int64) truth {
	t := truth{"complete": {}, "quiet": {}, "ordered": {}, "paid": {}}
	cents := map[int64]int64{}
	type place struct {
		region int64
		minute int64
	}
	ordered, paid := map[place][2]int64{}, map[place][2]int64{}
	add := func(to map[place][2]int64, at place, c int64) {
		s := to[at]
		to[at] = [2]int64{s[0] + 1, s[1] + c}
	}
	flush := func(before int64) {
		for name, sums := range map[string]map[place][2]int64{"ordered": ordered, "paid": paid} {
			for p, s := range sums {
				if p.minute < before {
					minute := time.UnixMilli(p.minute * 60_000).UTC().Format(time.RFC3339)
					t[name][line(Turnover{p.region, minute, s[0], s[1]})]++
					delete(sums, p)
				}
			}
		}
	}
	for i := range rows {
		o := order(i)
		cents[o.Customer] += o.Cents
		// A joined row has the later of its two times, which is the payment's.
		add(ordered, place{o.Region, o.At / 60_000}, o.Cents)
		if i%paidEvery == 0 {
			add(paid, place{o.Region, payment(i/paidEvery).At / 60_000}, o.Cents)
		}
		if (i+1)%block == 0 {
			for c, sum := range cents {
				t["complete"][line(Complete{c, ordersPerCustomer, sum})]++
				t["quiet"][line(Quiet{c, ordersPerCustomer})]++
			}
			clear(cents)
			flush(o.At/60_000 - 1)
		}
	}
	flush(1 << 62)
	return t
}

func line(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// found reads the finished files of a folder: those whose names do not say that somebody still writes them.
func found(t *testing.T, dir string) map[string]int {
	t.Helper()
	lines := map[string]int{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			return nil
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			lines[s.Text()]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// check compares the files in out with the truth.
func check(t *testing.T, out string, want truth) {
	t.Helper()
	for name, lines := range want {
		got := found(t, filepath.Join(out, name))
		wrong := 0
		tell := func(format string, args ...any) {
			if wrong++; wrong <= 5 {
				t.Errorf("%s: %s", name, fmt.Sprintf(format, args...))
			}
		}
		for l, n := range lines {
			if got[l] != n {
				tell("%d times instead of %d: %s", got[l], n, l)
			}
			delete(got, l)
		}
		for l, n := range got {
			tell("%d times, and should not be there: %s", n, l)
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d lines are wrong", name, wrong, len(lines))
		}
	}
}
