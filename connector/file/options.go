package file

import (
	"time"

	"github.com/weir-stream/weir/format/csv"
)

// splitBytes is the default size of byte ranges.
const splitBytes = 64 << 20

type options struct {
	patterns   []string
	recursive  bool
	allowEmpty bool
	watch      time.Duration
	splitBytes int64
	sideBySide bool
	dialect    csv.Options
}

// Option changes how a source finds and reads its files.
type Option func(*options)

// Also adds further patterns to the first one.
func Also(patterns ...string) Option {
	return func(o *options) { o.patterns = append(o.patterns, patterns...) }
}

// Recursive takes the files in folders below a directory too.
func Recursive() Option { return func(o *options) { o.recursive = true } }

// AllowEmpty makes it no error if nothing matches.
func AllowEmpty() Option { return func(o *options) { o.allowEmpty = true } }

// Watch makes the source unbounded: it looks for new files at the interval. A file is read once, however it changes later,
// and the paths of all files that were found are kept for as long as the job lives.
func Watch(interval time.Duration) Option { return func(o *options) { o.watch = interval } }

// SplitSize sets the size of the byte ranges into which plain files are cut, 64 MiB without it.
func SplitSize(bytes int64) Option { return func(o *options) { o.splitBytes = bytes } }

// SideBySide gives each reader its share of all splits at once, to be read in turn, instead of one after the other. With
// watermarks of its own for each split, rows then come in the order of event time across files whose own order of names
// is another, as far as watermark alignment permits. A reader has all its unfinished files open.
func SideBySide() Option { return func(o *options) { o.sideBySide = true } }

// Dialect describes the CSV.
func Dialect(d csv.Options) Option { return func(o *options) { o.dialect = d } }

func newOptions(pattern string, opts []Option) options {
	o := options{patterns: []string{pattern}, splitBytes: splitBytes}
	for _, f := range opts {
		f(&o)
	}
	return o
}
