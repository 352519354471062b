package parser_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/parser"
)

// TestPrintParse draws trees over all types of nodes and all their fields: printed and parsed again they are the same.
func TestPrintParse(t *testing.T) {
	kinds := implementations[reflect.TypeFor[ast.Statement]()]
	made := map[reflect.Type]bool{}
	for round := range 80 { // with RAPID_SEED all rounds draw the same
		rapid.Check(t, func(rt *rapid.T) { printParse(rt, kinds, made, round) })
	}
	if testing.Short() || t.Failed() {
		return
	}
	for _, list := range implementations {
		for _, typ := range list {
			if !made[typ] {
				t.Errorf("no %v was drawn", typ)
			}
		}
	}
}

// printParse draws one statement, prints it and parses it again.
func printParse(rt *rapid.T, kinds []reflect.Type, made map[reflect.Type]bool, round int) {
	// Numbers drawn one by one would be small ones most of the time, so the tree grows from a seed.
	seed, depth := rapid.Uint64().Draw(rt, "seed"), rapid.IntRange(1, 8).Draw(rt, "depth")
	g := &grower{rand: rand.New(rand.NewPCG(seed, uint64(depth+round<<8))), made: made}
	s := g.value(kinds[g.n(len(kinds))], depth).Interface().(ast.Statement)
	text := ast.String(s)
	again, err := parser.Parse(text)
	if err != nil {
		rt.Fatalf("%s\n does not parse: %v", text, err)
	}
	// Parameters are counted in the order of the text, which the grower does not know.
	ast.Inspect(again, func(n ast.Node) bool {
		if p, ok := n.(*ast.Param); ok {
			p.Index = 0
		}
		return true
	})
	if !ast.Equal(s, again) {
		rt.Fatalf("%s\n is another tree: %s", text, ast.String(again))
	}
}

// grower makes random trees by the types of their fields; grow_test.go holds what the types do not say.
type grower struct {
	rand *rand.Rand
	made map[reflect.Type]bool
}

// n draws a number below max.
func (g *grower) n(max int) int { return g.rand.IntN(max) }

// yes draws a truth.
func (g *grower) yes() bool { return g.n(2) == 1 }

// one draws one of several values.
func one[T any](g *grower, from ...T) T { return from[g.n(len(from))] }

// grow draws a node of a type.
func grow[T any](g *grower, depth int) T {
	return g.value(reflect.TypeFor[T](), depth).Interface().(T)
}

// value draws a value of a type, nodes at most depth levels high as far as that can be.
func (g *grower) value(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(g.yes())
	case reflect.Uint8:
		v.SetUint(uint64(g.n(enums[t])))
	case reflect.Int:
		v.SetInt(int64(g.n(12)))
	case reflect.String:
		v.SetString(one(g, "", "a", "it's", "x\ny", "Größe 😀", `\`, "`"))
	case reflect.Slice:
		for range g.n(3) + 1 {
			v.Set(reflect.Append(v, g.value(t.Elem(), depth)))
		}
	case reflect.Interface:
		list := implementations[t]
		if depth <= 0 {
			list = leaves[t]
		}
		v.Set(g.value(list[g.n(len(list))], depth))
	case reflect.Pointer:
		g.made[t] = true
		v.Set(reflect.New(t.Elem()))
		g.fields(v.Elem(), depth-1)
		g.mend(v.Interface(), depth-1)
	}
	return v
}

// fields draws the fields of a struct. Those that may be missing are missing half the time, and always where the tree has
// grown high enough.
func (g *grower) fields(v reflect.Value, depth int) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			continue
		}
		k := f.Type.Kind()
		absent := (k == reflect.Pointer || k == reflect.Interface || k == reflect.Slice) &&
			!required[v.Type().Name()+"."+f.Name]
		if absent && (depth <= 0 || g.yes()) {
			continue
		}
		v.Field(i).Set(g.value(f.Type, depth))
	}
}
