package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-stream/weir/connector"
)

const (
	// recentMax bounds the splits that a message names.
	recentMax = 8
	// stateTextMax bounds the state of a split in a message.
	stateTextMax = 200
)

// recent counts rows by split. It costs something for each batch, not for each row.
type recent struct {
	last   recentSplit // the last batch
	splits []recentSplit
	others int64 // rows of further splits
}

type recentSplit struct {
	id   string
	rows int64
}

func (r *recent) add(id string, rows int64) {
	r.last = recentSplit{id, rows}
	for i := range r.splits {
		if s := &r.splits[i]; s.id == id {
			s.rows += rows
			return
		}
	}
	if len(r.splits) == recentMax {
		r.others += rows
		return
	}
	r.splits = append(r.splits, recentSplit{id, rows})
}

// Settled implements operator.Locator.
func (o *reader[T]) Settled() { o.recent.splits, o.recent.others = o.recent.splits[:0], 0 }

// Where implements operator.Locator.
func (o *reader[T]) Where(batch bool) string {
	recent := o.recent
	if batch && recent.last.rows > 0 {
		recent.splits, recent.others = []recentSplit{recent.last}, 0
	}
	splits, ok := o.splits()
	var parts []string
	for _, s := range recent.splits {
		text := fmt.Sprintf("%s of split %q", count(s.rows), s.id)
		if ok {
			i := slices.IndexFunc(splits, func(c connector.Split) bool { return c.ID == s.id })
			if i < 0 {
				text = fmt.Sprintf("the last %s of split %q", count(s.rows), s.id)
			} else {
				text = fmt.Sprintf("%s before %s", count(s.rows), describe(o.src, o.ctx.FS, splits[i]))
			}
		}
		parts = append(parts, text)
	}
	if recent.others > 0 {
		parts = append(parts, count(recent.others)+" of further splits")
	}
	return strings.Join(parts, "; ")
}

func count(rows int64) string {
	if rows == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", rows)
}

// splits are those that the reader has, at their positions. The connector may be in any state: a row has failed.
func (o *reader[T]) splits() (out []connector.Split, ok bool) {
	defer func() {
		if recover() != nil {
			out, ok = nil, false
		}
	}()
	out, err := o.r.Snapshot()
	return out, err == nil
}

// Describing returns what says in words where the next record of a split is.
func Describing[T any](src connector.Source[T]) func(connector.FileSystem, connector.Split) string {
	return func(fs connector.FileSystem, s connector.Split) string { return describe(src, fs, s) }
}

func describe[T any](src connector.Source[T], fs connector.FileSystem, s connector.Split) (text string) {
	defer func() {
		if recover() != nil || text == "" {
			text = plain(s)
		}
	}()
	if d, ok := src.(connector.SplitDescriber); ok {
		return d.DescribeSplit(fs, s)
	}
	return ""
}

// plain shows a split as it is stored, if that can be read.
func plain(s connector.Split) string {
	state := string(s.State)
	if state == "" || len(state) > stateTextMax || !utf8.ValidString(state) || strings.ContainsFunc(state, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Sprintf("a place in split %q", s.ID)
	}
	return fmt.Sprintf("split %q at %s", s.ID, state)
}
