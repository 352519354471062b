package weirtest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// render returns a text that is the same for equal values and, but for functions and channels, differs for different ones:
// pointers are followed, maps are in the order of their keys. It is what rows are compared by.
func render(v any) string {
	var b strings.Builder
	rv := reflect.ValueOf(v) // what an interface holds has no address
	if rv.IsValid() {
		c := reflect.New(rv.Type()).Elem()
		c.Set(rv)
		rv = c
	}
	renderer{b: &b}.value(rv, 0)
	return b.String()
}

func renderAll[T any](rows []T) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = render(r)
	}
	return out
}

type renderer struct{ b *strings.Builder }

// deepest bounds how far pointers are followed, for values that contain themselves.
const deepest = 32

func (r renderer) value(v reflect.Value, depth int) {
	if !v.IsValid() {
		r.b.WriteString("nil")
		return
	}
	if depth > deepest {
		r.b.WriteString("...")
		return
	}
	if v.CanInterface() && r.known(v.Interface()) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		r.fields(v, depth)
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			r.b.WriteString("nil")
			return
		}
		r.b.WriteByte('[')
		for i := range v.Len() {
			r.space(i)
			r.value(v.Index(i), depth+1)
		}
		r.b.WriteByte(']')
	case reflect.Map:
		r.entries(v, depth)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			r.b.WriteString("nil")
			return
		}
		if v.Kind() == reflect.Pointer {
			r.b.WriteByte('&')
		}
		r.value(v.Elem(), depth+1)
	case reflect.String:
		r.b.WriteString(strconv.Quote(v.String()))
	default:
		fmt.Fprintf(r.b, "%v", v)
	}
}

// known renders types whose inside says less than they do. Instants are compared, not their time zones.
func (r renderer) known(v any) bool {
	switch v := v.(type) {
	case time.Time:
		r.b.WriteString(v.UTC().Format(time.RFC3339Nano))
	case time.Duration:
		r.b.WriteString(v.String())
	default:
		return false
	}
	return true
}

// open returns v without the mark of having come from an unexported field, where that can be.
func open(v reflect.Value) reflect.Value {
	if v.CanInterface() || !v.CanAddr() {
		return v
	}
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
}

func (r renderer) fields(v reflect.Value, depth int) {
	r.b.WriteByte('{')
	for i := range v.NumField() {
		r.space(i)
		r.b.WriteString(v.Type().Field(i).Name)
		r.b.WriteByte(':')
		r.value(open(v.Field(i)), depth+1)
	}
	r.b.WriteByte('}')
}

func (r renderer) entries(v reflect.Value, depth int) {
	type entry struct{ key, value string }
	var all []entry
	for it := v.MapRange(); it.Next(); {
		var k, e strings.Builder
		renderer{&k}.value(it.Key(), depth+1)
		renderer{&e}.value(it.Value(), depth+1)
		all = append(all, entry{k.String(), e.String()})
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.value, b.value)) })
	r.b.WriteString("map[")
	for i, e := range all {
		r.space(i)
		r.b.WriteString(e.key + ":" + e.value)
	}
	r.b.WriteByte(']')
}

func (r renderer) space(i int) {
	if i > 0 {
		r.b.WriteByte(' ')
	}
}
