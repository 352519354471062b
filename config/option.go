package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Option is one setting of type T. Make it with Int, Duration and the like, and read it with Config.Get.
type Option[T any] struct {
	info   Info
	def    T
	parse  func(string) (T, error)
	format func(T) string
	check  func(T) error // nil = everything that parses is right
}

// Info is what is known of an option without its type: for documentation and messages.
type Info struct {
	Key     string
	Type    string // "Integer", "Duration", ...: Flink's words
	Default string // as one would write it; "" = none
	Form    string // what a value looks like: "a whole number between 1 and 32768"
	Doc     string // sentences
}

// Any is an Option of any type. Only this package implements it.
type Any interface {
	// Info describes the option.
	Info() Info
	// validate says what is wrong with a value, or nil.
	validate(text string) error
}

// Info describes the option.
func (o Option[T]) Info() Info { return o.info }

// Key is the option's key.
func (o Option[T]) Key() string { return o.info.Key }

// Default is the value when nothing is set.
func (o Option[T]) Default() T { return o.def }

// Format writes a value in the form that Parse reads.
func (o Option[T]) Format(v T) string { return o.format(v) }

// Parse reads a value and checks it. The error does not name the key; Config.Set adds it.
func (o Option[T]) Parse(text string) (T, error) {
	v, err := o.parse(strings.TrimSpace(text))
	if err == nil && o.check != nil {
		err = o.check(v)
	}
	if err != nil {
		return o.def, err
	}
	return v, nil
}

func (o Option[T]) validate(text string) error {
	_, err := o.Parse(text)
	return err
}

// Check returns the option with a further condition; form says in words what a value must be ("a power of two").
func (o Option[T]) Check(form string, ok func(T) bool) Option[T] {
	o.info.Form = form
	o.check = func(v T) error {
		if !ok(v) {
			return fmt.Errorf("want %s", form)
		}
		return nil
	}
	return o
}

// Between returns the option limited to lo <= value <= hi. It is a condition like Check and replaces one.
func Between[T cmp.Ordered](o Option[T], lo, hi T) Option[T] {
	comma := ""
	if strings.Contains(o.info.Form, ",") {
		comma = ","
	}
	form := fmt.Sprintf("%s%s between %s and %s", o.info.Form, comma, o.format(lo), o.format(hi))
	return o.Check(form, func(v T) bool { return lo <= v && v <= hi })
}

// AtLeast returns the option limited to lo <= value. It is a condition like Check and replaces one.
func AtLeast[T cmp.Ordered](o Option[T], lo T) Option[T] {
	return o.Check(fmt.Sprintf("%s of at least %s", o.info.Form, o.format(lo)), func(v T) bool { return lo <= v })
}

func newOption[T any](key, typ, form string, def T, doc string, parse func(string) (T, error), format func(T) string) Option[T] {
	return Option[T]{info: Info{Key: key, Type: typ, Default: format(def), Form: form, Doc: doc}, def: def,
		parse: func(s string) (T, error) {
			v, err := parse(s)
			if err != nil {
				err = fmt.Errorf("want %s", form)
			}
			return v, err
		}, format: format}
}

// Int is a whole number.
func Int(key string, def int, doc string) Option[int] {
	return newOption(key, "Integer", "a whole number", def, doc, strconv.Atoi, strconv.Itoa)
}

// Float is a number.
func Float(key string, def float64, doc string) Option[float64] {
	return newOption(key, "Double", "a number", def, doc, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) },
		func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) })
}

// Bool is true or false.
func Bool(key string, def bool, doc string) Option[bool] {
	return newOption(key, "Boolean", "true or false", def, doc, func(s string) (bool, error) {
		switch strings.ToLower(s) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, strconv.ErrSyntax
	}, strconv.FormatBool)
}

// String is any text.
func String(key, def, doc string) Option[string] {
	return newOption(key, "String", "a text", def, doc, func(s string) (string, error) { return s, nil }, func(s string) string { return s })
}

// Enum is one of some words, read without regard to case, and returned as they are spelled in values.
func Enum(key, def string, values []string, doc string) Option[string] {
	values = slices.Clone(values)
	return newOption(key, "Enum", "one of "+strings.Join(values, ", "), def, doc, func(s string) (string, error) {
		for _, v := range values {
			if strings.EqualFold(fold(s), fold(v)) {
				return v, nil
			}
		}
		return "", strconv.ErrSyntax
	}, func(s string) string { return s })
}

// List is a list of texts, written with ";" between them, or as a list in YAML.
func List(key string, def []string, doc string) Option[[]string] {
	return newOption(key, "List<String>", "texts with ; between them", slices.Clone(def), doc, func(s string) ([]string, error) {
		if s == "" {
			return nil, nil
		}
		parts := strings.Split(s, ";")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		return parts, nil
	}, func(v []string) string { return strings.Join(v, ";") })
}

// Duration is a time span with its unit: "10 ms", "3 min", "1h30m". A bare number counts milliseconds, as in Flink.
func Duration(key string, def time.Duration, doc string) Option[time.Duration] {
	return newOption(key, "Duration", "a duration with its unit, such as 10 ms, 5 s, 3 min or 1 h", def, doc, ParseDuration, FormatDuration)
}

// Bytes is an amount of memory with its unit, in powers of 1024: "64 kb", "1 gb". A bare number counts bytes.
func Bytes(key string, def ByteSize, doc string) Option[ByteSize] {
	return newOption(key, "MemorySize", "a size with its unit, such as 64 kb, 32 mb or 1 gb", def, doc, ParseBytes, ByteSize.String)
}
