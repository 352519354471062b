package file

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/format/csv"
)

// The defaults of rolling are those of Flink's FileSink.
const (
	rollSize     = 128 << 20
	rollInterval = time.Minute
	rollInactive = time.Minute
	// openMax bounds the files that a subtask has open at once.
	openMax = 128
)

type sinkOptions struct {
	dialect        csv.Options
	extension      string
	prefix         string
	replace        bool
	rolls          bool // one of the Roll options was given
	size           int64
	interval       time.Duration
	inactive       time.Duration
	eachCheckpoint bool
	bucket         any // func(T) string
	layout         string
	eventTime      bool
	zone           *time.Location
}

// SinkOption changes how a sink writes its files.
type SinkOption func(*sinkOptions)

func newSinkOptions(extension string, opts []SinkOption) sinkOptions {
	o := sinkOptions{extension: extension, prefix: "part", size: rollSize, interval: rollInterval, inactive: rollInactive, zone: time.UTC}
	for _, f := range opts {
		f(&o)
	}
	return o
}

// rolling reports whether the options are of use only for a folder of parts.
func (o *sinkOptions) rolling() bool { return o.rolls || o.bucket != nil || o.layout != "" }

// SinkDialect describes the CSV to write.
func SinkDialect(d csv.Options) SinkOption { return func(o *sinkOptions) { o.dialect = d } }

// Extension sets how the names of parts in a folder end, ".csv.zst" say; the format's own extension without it.
func Extension(ext string) SinkOption { return func(o *sinkOptions) { o.extension = ext } }

// Prefix sets how the names of rolling parts begin, "part" without it.
func Prefix(prefix string) SinkOption { return func(o *sinkOptions) { o.prefix = prefix } }

// Replace removes the parts that a run with another parallelism has left in the folder. Without it they are an error. It
// concerns jobs without checkpoints: rolling parts are never removed.
func Replace() SinkOption { return func(o *sinkOptions) { o.replace = true } }

// RollSize ends a part when it has that many bytes, 128 MiB without it. A part may be longer by one batch.
func RollSize(bytes int64) SinkOption {
	return func(o *sinkOptions) { o.rolls, o.size = true, bytes }
}

// RollInterval ends a part that was begun that long ago, a minute without it; 0 is never.
func RollInterval(d time.Duration) SinkOption {
	return func(o *sinkOptions) { o.rolls, o.interval = true, d }
}

// RollInactive ends a part to which nothing was added for that long, a minute without it; 0 is never.
func RollInactive(d time.Duration) SinkOption {
	return func(o *sinkOptions) { o.rolls, o.inactive = true, d }
}

// RollEachCheckpoint ends all parts at each checkpoint, so that every row is visible when its checkpoint is complete, at the
// price of more and smaller files.
func RollEachCheckpoint() SinkOption {
	return func(o *sinkOptions) { o.rolls, o.eachCheckpoint = true, true }
}

// BucketBy puts each row into the folder, below that of the sink, that f names: one or more elements, or "" for the sink's
// own folder. Elements that begin with '.' or '_' are refused, since readers leave them out.
func BucketBy[T any](f func(row T) string) SinkOption {
	return func(o *sinkOptions) { o.bucket = f }
}

// BucketByTime puts rows into folders named by the event time of each row in a layout of package time, such as
// "2006-01-02/15". Rows without event time go to the folder "no-time".
func BucketByTime(layout string) SinkOption {
	return func(o *sinkOptions) { o.layout, o.eventTime = layout, true }
}

// BucketByProcessingTime is BucketByTime with the time at which rows are written.
func BucketByProcessingTime(layout string) SinkOption {
	return func(o *sinkOptions) { o.layout, o.eventTime = layout, false }
}

// BucketZone sets the time zone of the buckets' names, UTC without it.
func BucketZone(zone *time.Location) SinkOption { return func(o *sinkOptions) { o.zone = zone } }

// buckets names the folder of a row. It belongs to one goroutine.
type buckets[T any] struct {
	by        func(T) string
	layout    string
	eventTime bool
	zone      *time.Location
	// One name holds for granule ms from a multiple of it on; name is that of [from, from+granule).
	granule, from int64
	name          string
}

// bucketsOf checks the options.
func bucketsOf[T any](o sinkOptions) (*buckets[T], error) {
	b := &buckets[T]{layout: o.layout, eventTime: o.eventTime, zone: o.zone}
	switch {
	case o.bucket != nil && o.layout != "":
		return nil, fmt.Errorf("file: the options ask for buckets by a function and by time: put the time into the function")
	case o.zone == nil:
		return nil, fmt.Errorf("file: the zone of the buckets is nil")
	case o.size <= 0 || o.interval < 0 || o.inactive < 0:
		return nil, fmt.Errorf("file: RollSize must be above 0, RollInterval and RollInactive not below it")
	case strings.ContainsAny(o.prefix, "/\\") || o.prefix == "" || o.prefix[0] == '.' || o.prefix[0] == '_':
		return nil, fmt.Errorf("file: the prefix %q of parts must be a name without / that does not begin with . or _", o.prefix)
	case strings.ContainsAny(o.extension, "/\\"):
		return nil, fmt.Errorf("file: the extension %q has a / in it", o.extension)
	}
	if o.bucket != nil {
		var ok bool
		if b.by, ok = o.bucket.(func(T) string); !ok || b.by == nil {
			return nil, fmt.Errorf("file: BucketBy was given a %T, and the sink's rows need a %T", o.bucket, b.by)
		}
	}
	if o.layout != "" {
		b.granule, b.from = granuleOf(o.layout), -1
		if err := checkBucket(time.UnixMilli(0).In(o.zone).Format(o.layout)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// granuleOf returns for how many ms the names of a layout stay the same at least. Zones differ by quarters of an hour.
func granuleOf(layout string) int64 {
	base := time.Date(2021, 2, 3, 4, 15, 0, 0, time.UTC)
	granule := 15 * time.Minute
	for _, d := range []time.Duration{time.Minute, time.Second, time.Millisecond} {
		// A name that changes within the larger unit changes by one of the smaller.
		if base.Add(d).Format(layout) != base.Format(layout) || base.Add(granule-d).Format(layout) != base.Format(layout) {
			granule = d
		}
	}
	return granule.Milliseconds()
}

// of names the folder of a row. time is the row's event time, now the processing time in ms.
func (b *buckets[T]) of(row T, eventTime, now int64) (string, error) {
	if b.by != nil {
		name := b.by(row)
		return name, checkBucket(name)
	}
	if b.layout == "" {
		return "", nil
	}
	t := now
	if b.eventTime {
		if t = eventTime; t == connector.NoTime {
			return "no-time", nil
		}
	}
	if b.name != "" && t >= b.from && t < b.from+b.granule {
		return b.name, nil
	}
	at := time.UnixMilli(t).In(b.zone)
	name := at.Format(b.layout)
	b.from, b.name = t-((t%b.granule)+b.granule)%b.granule, name
	if _, offset := at.Zone(); offset%(15*60) != 0 {
		b.name = "" // local mean times of long ago
	}
	return name, checkBucket(name)
}

// checkBucket refuses names that lead out of the folder or that readers would not see.
func checkBucket(name string) error {
	if name == "" {
		return nil
	}
	if path.Clean(name) != name || path.IsAbs(name) || strings.ContainsAny(name, "\\\x00") {
		return fmt.Errorf("file: the bucket %q must be one or more names with / between them", name)
	}
	for element := range strings.SplitSeq(name, "/") {
		if element[0] == '.' || element[0] == '_' {
			return fmt.Errorf("file: the bucket %q has an element that begins with . or _, which readers leave out", name)
		}
	}
	return nil
}
