package weir

import (
	"fmt"
	"reflect"
	"strings"
)

// want is an optional method of a function, which is called only if it has the right signature.
type want struct {
	method string
	in     reflect.Type // the interface that has it
}

func wants[I any](method string) want { return want{method, reflect.TypeFor[I]()} }

// probe makes an instance of a function to see what is wrong with it: nothing at all, or a method that has the name of an
// optional one and another signature, so that it would never be called. It returns the instance's type for the plan.
func probe[F any](env *Env, call, name string, make func() F, optional ...want) string {
	if make == nil {
		env.problem("graph.function.nil", nilFunc(call), "pass a function that makes the instance of a subtask")
		return ""
	}
	f, failed := attempt(make)
	if failed != nil {
		env.problem("graph.function.make", fmt.Sprintf("making the function of %q panicked: %v", name, failed),
			"do in Open what may fail: it returns an error")
		return ""
	}
	v := reflect.ValueOf(&f).Elem()
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Func, reflect.Map:
		if v.IsNil() {
			env.problem("graph.function.nil", fmt.Sprintf("%s of %q was given a function that makes nil", call, name), "return a new instance each time")
			return ""
		}
	}
	t := v.Type()
	for _, w := range optional {
		if m, ok := t.MethodByName(w.method); ok && !t.Implements(w.in) {
			env.problem("graph.function.method", fmt.Sprintf("method %s of %v is %s and would never be called", w.method, t, signature(m.Type, 1)),
				"change it to "+signature(w.in.Method(0).Type, 0)+", or rename it")
		}
	}
	if t.PkgPath() != "" && ours(t.PkgPath()+".") {
		return ""
	}
	return strings.ReplaceAll(t.String(), modulePath+"/", "")
}

func attempt[F any](make func() F) (f F, failed any) {
	defer func() { failed = recover() }()
	return make(), nil
}

// signature prints a function's type without its first skip parameters.
func signature(t reflect.Type, skip int) string {
	var in, out []string
	for i := skip; i < t.NumIn(); i++ {
		in = append(in, t.In(i).String())
	}
	for i := range t.NumOut() {
		out = append(out, t.Out(i).String())
	}
	s := "func(" + strings.Join(in, ", ") + ")"
	switch len(out) {
	case 0:
		return s
	case 1:
		return s + " " + out[0]
	}
	return s + " (" + strings.Join(out, ", ") + ")"
}
