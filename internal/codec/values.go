package codec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/weir-stream/weir/internal/errs"
)

// Values says what the values of a state are, and how those that an earlier program wrote become such. It is what a state's
// descriptor carries beside the written schema, since that knows neither former names nor functions. It is immutable and
// may be shared.
type Values struct {
	// Schema is the present one, with the former names of fields.
	Schema *Schema
	// Migratable says that the program may register migrations: the state is its own, not an operator's of the engine.
	Migratable bool

	typ    reflect.Type
	resume func(old *Schema) (Rewrite, []Change, error)
	from   []migration
}

// migration is a user's function from a former type.
type migration struct {
	schema *Schema
	typ    reflect.Type
	resume func(old *Schema) (Rewrite, []Change, error)
}

// Rewrite appends to dst what the whole of old, a value of a former schema, is in the present one. It belongs to one goroutine.
type Rewrite func(dst, old []byte) ([]byte, error)

// Conversion is how values of one former schema are read.
type Conversion struct {
	// Rewrite is nil if the bytes are the same.
	Rewrite Rewrite
	// Changes are those from the former schema to the present one, or to the type that the migration takes.
	Changes []Change
	// Migration is the type that the migration function takes, "" if none is called.
	Migration string
}

var valuesByType sync.Map // reflect.Type -> *Values

// ValuesOf describes values of type T.
func ValuesOf[T any]() (*Values, error) {
	t := reflect.TypeFor[T]()
	if v, ok := valuesByType.Load(t); ok {
		return v.(*Values), nil
	}
	c, err := For[T]()
	if err != nil {
		return nil, err
	}
	v := &Values{Schema: c.schema, typ: t, resume: rewriter(func(x T) (T, error) { return x, nil })}
	valuesByType.Store(t, v)
	return v, nil
}

// Migrating returns v, which is of type T, with a further function for values that were written as Old. f may be called on
// several goroutines at once.
func Migrating[T, Old any](v *Values, f func(Old) (T, error)) (*Values, error) {
	c, err := For[Old]()
	if err != nil {
		return nil, err
	}
	m := migration{schema: c.schema, typ: reflect.TypeFor[Old](), resume: rewriter(f)}
	switch {
	case v.typ != reflect.TypeFor[T]():
		return nil, errs.New(errs.CodeBug, errs.ClassBug, "", "values of %v with a migration to %v", v.typ, reflect.TypeFor[T]())
	case f == nil:
		return nil, errs.New(errs.CodeSchema, errs.ClassUser, "", "the migration from %v is nil", m.typ)
	case m.schema.Equal(v.Schema):
		return nil, errs.New(errs.CodeSchema, errs.ClassUser, "",
			"a migration from %v to %v, whose encodings are the same, so that migrated values could not be told from others: give the field whose meaning changes a new name", m.typ, v.typ)
	}
	for _, o := range v.from {
		if o.schema.Equal(m.schema) {
			return nil, errs.New(errs.CodeSchema, errs.ClassUser, "", "two migrations from the same encoding, of %v and of %v: register one", o.typ, m.typ)
		}
	}
	with := *v
	with.from = append(slices.Clip(v.from), m)
	return &with, nil
}

// rewriter decodes a value of a former schema as From, has f make a T of it, and encodes that.
func rewriter[From, T any](f func(From) (T, error)) func(old *Schema) (Rewrite, []Change, error) {
	return func(old *Schema) (Rewrite, []Change, error) {
		in, plan, err := forSchema[From](old)
		if err != nil {
			return nil, nil, err
		}
		out, err := For[T]()
		if err != nil {
			return nil, nil, err
		}
		return func(dst, value []byte) ([]byte, error) {
			var from From
			// A copy, since a function may keep parts of what it is given.
			rest, err := in.DecodeCopy(value, &from)
			if err == nil && len(rest) > 0 {
				err = corruptf(shortName(reflect.TypeFor[From]()), "%d bytes are left", len(rest))
			}
			if err != nil {
				return dst, err
			}
			to, err := f(from)
			if err != nil {
				return dst, err
			}
			return out.Append(dst, &to), nil
		}, plan.Changes, nil
	}
}

// From returns how values written with the schema old are read, or why they cannot be, with one line for each offence.
//
// The first of these that fits: the migration from just that schema; the present type, if the schema is the same or
// differs in nothing that would be lost; a migration from a type for which the same holds; the present type, losing
// fields; a migration from a type that loses fields.
func (v *Values) From(old *Schema) (Conversion, error) {
	for i := range v.from {
		if v.from[i].schema.Equal(old) {
			return v.from[i].conversion(old)
		}
	}
	own, err := v.own(old)
	if err == nil && !loses(own.Changes) {
		return own, nil
	}
	var lossy *Conversion
	for i := range v.from {
		c, err := v.from[i].conversion(old)
		if err != nil {
			continue
		}
		if !loses(c.Changes) {
			return c, nil
		}
		if lossy == nil {
			lossy = &c
		}
	}
	switch {
	case err == nil:
		return own, nil
	case lossy != nil:
		return *lossy, nil
	}
	return Conversion{}, v.refusal(err)
}

// own reads old by the rules of Resolve alone.
func (v *Values) own(old *Schema) (Conversion, error) {
	plan, err := Resolve(old, v.Schema)
	if err != nil || plan.Identical() {
		return Conversion{}, err
	}
	rewrite, changes, err := v.resume(old)
	return Conversion{Rewrite: rewrite, Changes: changes}, err
}

func (m *migration) conversion(old *Schema) (Conversion, error) {
	rewrite, changes, err := m.resume(old)
	return Conversion{Rewrite: rewrite, Changes: changes, Migration: shortName(m.typ)}, err
}

// refusal adds to why the present type cannot read a schema that no migration can.
func (v *Values) refusal(why error) error {
	if len(v.from) == 0 {
		return why
	}
	var from []string
	for i := range v.from {
		from = append(from, shortName(v.from[i].typ))
	}
	return errs.New(errs.CodeSchema, errs.ClassFailJob, "", "%s\nNo migration that is registered takes it either: they are from %s.",
		message(why), strings.Join(from, ", "))
}

// message is what an error says without its code.
func message(err error) string {
	if e, ok := err.(*errs.Error); ok {
		return e.Msg
	}
	return err.Error()
}

func loses(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.What == dropped })
}

// String names the type for messages.
func (v *Values) String() string { return fmt.Sprint(v.typ) }
