package file

import (
	"fmt"
	"strings"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/format"
	"github.com/weir-stream/weir/format/csv"
	"github.com/weir-stream/weir/format/json"
)

// CSV reads rows of struct type T from CSV files. pattern is a path, a directory, or a path with the wildcards of
// path.Match, in which "**" stands for any number of folders.
func CSV[T any](pattern string, opts ...Option) connector.Source[T] {
	o := newOptions(pattern, opts)
	return &source[T]{format: csv.New[T](o.dialect), opts: o}
}

// JSON reads rows of type T from files with one JSON value a line.
func JSON[T any](pattern string, opts ...Option) connector.Source[T] {
	return From(json.New[T](json.Options{}), pattern, opts...)
}

// From reads rows in any format.
func From[T any](f format.Format[T], pattern string, opts ...Option) connector.Source[T] {
	return &source[T]{format: f, opts: newOptions(pattern, opts)}
}

type source[T any] struct {
	format format.Format[T]
	opts   options
}

// Name implements connector.Source.
func (s *source[T]) Name() string { return s.format.Name() + " " + strings.Join(s.opts.patterns, " ") }

// Boundedness implements connector.Source.
func (s *source[T]) Boundedness() connector.Boundedness {
	if s.opts.watch > 0 {
		return connector.Unbounded
	}
	return connector.Bounded
}

// Check implements connector.Checker.
func (s *source[T]) Check() error {
	if s.opts.splitBytes <= 0 {
		return fmt.Errorf("file: the split size is %d, want at least one byte", s.opts.splitBytes)
	}
	if s.opts.watch < 0 {
		return fmt.Errorf("file: the interval of Watch is %v, want more than zero", s.opts.watch)
	}
	if err := checkPatterns(s.opts.patterns); err != nil {
		return err
	}
	return s.format.Check()
}

// SideBySide implements connector.SideBySide.
func (s *source[T]) SideBySide() bool { return s.opts.sideBySide }

// Enumerator implements connector.Source.
func (s *source[T]) Enumerator(ctx connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return newEnumerator(ctx, s.opts, s.format.Splittable(), restored)
}

// Reader implements connector.Source.
func (s *source[T]) Reader(ctx connector.ReaderContext) (connector.Reader[T], error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return &reader[T]{format: s.format, ctx: ctx, text: new(format.Text), wake: connector.NewWake()}, nil
}
