package window

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Law: after any additions the live sessions are the connected groups of all windows added, where windows that overlap or
// touch are connected; and each window's content is found at the home of its group.
func TestSessionsAreConnectedGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Sessions
		var m Merge
		var all []Window
		content := map[int64]int{} // home -> number of windows
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			start := rapid.Int64Range(-100, 100).Draw(t, "start")
			w := Window{start, start + rapid.Int64Range(1, 15).Draw(t, "gap")}
			all = append(all, w)
			s.Add(w, &m)
			if s.Live[m.Index] != m.Into {
				t.Fatalf("Index %d of %v is not %v", m.Index, s.Live, m.Into)
			}
			if m.Opened != (content[m.Into.Home] == 0) {
				t.Fatalf("Opened = %v, but home %d has %d windows", m.Opened, m.Into.Home, content[m.Into.Home])
			}
			for _, old := range m.Old {
				if old.Home != m.Into.Home {
					content[m.Into.Home] += content[old.Home]
					delete(content, old.Home)
				}
			}
			content[m.Into.Home]++
		}
		slices.SortFunc(all, func(a, b Window) int { return int(a.Start - b.Start) })
		var groups []Window
		var sizes []int
		for _, w := range all {
			if n := len(groups); n > 0 && w.Start <= groups[n-1].End {
				groups[n-1].End = max(groups[n-1].End, w.End)
				sizes[n-1]++
				continue
			}
			groups, sizes = append(groups, w), append(sizes, 1)
		}
		if len(groups) != len(s.Live) || len(content) != len(groups) {
			t.Fatalf("sessions %v with content %v, want %v", s.Live, content, groups)
		}
		for i, g := range groups {
			if s.Live[i].Window != g || content[s.Live[i].Home] != sizes[i] || !g.Contains(s.Live[i].Home) {
				t.Fatalf("session %d is %v with %d windows, want %v with %d", i, s.Live[i], content[s.Live[i].Home], g, sizes[i])
			}
			if found, ok := s.Find(g); !ok || found != s.Live[i] {
				t.Fatalf("Find(%v) = %v, %v", g, found, ok)
			}
			if _, ok := s.Find(Window{g.Start, g.End + 1}); ok {
				t.Fatalf("Find finds a window that is no session")
			}
		}
		for _, g := range groups {
			if !s.Remove(g) || s.Remove(g) {
				t.Fatalf("Remove(%v)", g)
			}
		}
		if len(s.Live) != 0 {
			t.Fatalf("left: %v", s.Live)
		}
	})
}
