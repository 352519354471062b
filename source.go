package weir

import (
	"fmt"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/source"
)

// SourceOption says how a source treats its rows. Options come from EventTime, OnBadRecord and others of this package.
type SourceOption[T any] struct{ set func(*source.Options[T]) }

// TimeOption refines EventTime.
type TimeOption func(*timeOptions)

type timeOptions struct {
	outOfOrder, idle, drift time.Duration
	noWatermarks            bool
}

// OutOfOrder says how far behind the highest time seen so far in its split a row may come without being late. The
// watermark is that much, and a millisecond, behind. The default is 0: times rise.
func OutOfOrder(d time.Duration) TimeOption { return func(o *timeOptions) { o.outOfOrder = d } }

// Idle says after how long without a row a split no longer holds back the watermark. By default it does so for ever.
func Idle(d time.Duration) TimeOption { return func(o *timeOptions) { o.idle = d } }

// Aligned keeps the splits of the source within drift of each other: one whose watermark is further ahead of the lowest is not
// read until the others have come near. All splits are then assigned at the start, as far as they are known.
func Aligned(drift time.Duration) TimeOption { return func(o *timeOptions) { o.drift = drift } }

// NoWatermarks gives rows their times but makes no watermarks, for jobs that use times without windows or timers.
func NoWatermarks() TimeOption { return func(o *timeOptions) { o.noWatermarks = true } }

// EventTime says what the event time of a row is. A row for which at returns the zero time.Time, or one outside the years 1 to
// 9999, has none: it is counted and goes to the side output that NoTime reads, not to the stream.
func EventTime[T any](at func(T) time.Time, opts ...TimeOption) SourceOption[T] {
	var t timeOptions
	for _, opt := range opts {
		if opt != nil {
			opt(&t)
		}
	}
	return SourceOption[T]{func(o *source.Options[T]) {
		o.TimeNil = at == nil
		o.Time, o.OutOfOrder, o.Idle, o.Drift, o.NoWatermarks = at, t.outOfOrder, t.idle, t.drift, t.noWatermarks
	}}
}

// WithEventTime gives the rows of a stream their event time anew, where it is known only in the middle of a job: behind a
// flatMap that takes messages apart, or a join that makes rows of another kind. Each subtask makes watermarks of the rows
// that come to it, as a source does for a split. Watermarks from before end here, all but the one at the end of the input. Rows
// without event time are counted and go to the side output that NoTime reads.
//
// Where a source can know the time of its rows, EventTime at the source is better: it keeps splits apart, whose times
// advance at different speeds, and can align them.
func (s Stream[T]) WithEventTime[F ~func(T) time.Time](at F, opts ...TimeOption) Stream[T] {
	var o source.Options[T]
	EventTime(at, opts...).set(&o)
	problem := func(what string) { s.env.problem("graph.time.option", "WithEventTime: "+what, "") }
	for _, what := range o.Problems() {
		problem(what)
	}
	if o.Drift != 0 {
		problem("Aligned works at sources only, whose splits it pauses: leave it out, or give the source its EventTime")
	}
	return streamOf[T](s.env, s.then(graph.Node{Kind: "eventTime", Desc: o.Describe(), SideOutputs: []string{source.NoTimeSide},
		Factory: operator.Maker(func() operator.Operator { return source.NewAssigner(o) })}))
}

// BadPolicy says what becomes of records that cannot be decoded: FailOnBad (the default), SkipBad or QuarantineBad.
type BadPolicy struct {
	policy source.Policy
	max    int64
}

// FailOnBad ends the job at the first record that cannot be decoded, with its place and content.
func FailOnBad() BadPolicy { return BadPolicy{policy: source.Fail} }

// SkipBad drops such records and counts them. More than max in one subtask fail the job; 0 is without bound.
func SkipBad(max int64) BadPolicy { return BadPolicy{policy: source.Skip, max: max} }

// QuarantineBad sends such records to the side output that BadRecords reads, and counts them. More than max in one
// subtask fail the job; 0 is without bound.
func QuarantineBad(max int64) BadPolicy { return BadPolicy{policy: source.Quarantine, max: max} }

// OnBadRecord sets the policy for records that cannot be decoded.
func OnBadRecord[T any](p BadPolicy) SourceOption[T] {
	return SourceOption[T]{func(o *source.Options[T]) { o.Bad, o.BadMax = p.policy, p.max }}
}

// From adds a source under that name. The name identifies the positions in its splits, so it must be unique and stay.
func From[T any](env *Env, name string, src connector.Source[T], opts ...SourceOption[T]) Stream[T] {
	if env == nil {
		panic("weir: From was given a nil Env: use the one that build was given, or weir.NewEnv")
	}
	var o source.Options[T]
	for _, opt := range opts {
		if opt.set != nil {
			opt.set(&o)
		}
	}
	for _, what := range o.Problems() {
		env.problem("graph.source.option", fmt.Sprintf("source %q: %s", name, what), "")
	}
	if src == nil {
		env.problem("graph.source.nil", "the source passed to From is nil", "pass a source such as slice.Of(...) or file.CSV[Row](...)")
		return streamOf[T](env, env.add(graph.Node{Name: name, Kind: "source", Source: true}))
	}
	if c, ok := src.(connector.Checker); ok {
		if err := c.Check(); err != nil {
			env.problem("graph.source.invalid", fmt.Sprintf("source %q cannot work: %v", name, err), "mend the source's row type or options")
		}
	}
	side, ok := src.(connector.SideBySide)
	n := graph.Node{
		Name: name, Kind: "source", Source: true, Stateful: true, Bounded: src.Boundedness() == connector.Bounded,
		Desc: src.Name(), Factory: &source.Descriptor{
			Make:       sourceMaker(src, o),
			Enumerator: src.Enumerator,
			Describe:   source.Describing(src),
			Drift:      o.Drift,
			Eager:      ok && side.SideBySide(),
		},
	}
	if d := o.Describe(); d != "" {
		n.Desc += "; " + d
	}
	if l, ok := src.(connector.InProcess); ok {
		n.Local = l.InProcess()
	}
	if m, ok := src.(connector.MaxParallelism); ok {
		n.SourceMaxParallelism = m.MaxParallelism()
	}
	declare(&n, Tag[T]{name: source.NoTimeSide})
	declare(&n, Tag[connector.BadRecord]{name: source.BadSide})
	return streamOf[T](env, env.add(n))
}

func sourceMaker[T any](src connector.Source[T], o source.Options[T]) operator.Maker {
	if d, ok := src.(source.Driven); ok {
		return d.Operator
	}
	return func() operator.Operator { return source.New(src, o) }
}

// NoTime returns the rows of the source, or of the WithEventTime, that produces s which have no usable event time.
func (s Stream[T]) NoTime() Stream[T] { return s.Side(Tag[T]{name: source.NoTimeSide}) }

// BadRecords returns the records of the source that produces s which could not be decoded, if its policy is QuarantineBad.
func (s Stream[T]) BadRecords() Stream[connector.BadRecord] {
	return s.Side(Tag[connector.BadRecord]{name: source.BadSide})
}
