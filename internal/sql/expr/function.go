package expr

import (
	"fmt"
	"sort"
	"strings"

	"github.com/weir-stream/weir/internal/sql/datatype"
)

// Function is a scalar function or operator.
type Function struct {
	// Name is how it is called, in capitals; operators have their sign.
	Name string
	// Infix says that plans print it between its two arguments.
	Infix bool
	// Resolve decides what a call with these arguments is: the type of the result, and the types that the arguments are cast to (an entry
	// with Root 0 leaves the argument as it is). Literals are given so that types can depend on values. Its error says what arguments the
	// function takes.
	Resolve func(args []Expr, options map[string]string) (result datatype.Type, want []datatype.Type, err error)
	// Volatile says that two calls with the same arguments may differ (RAND, UUID): never folded, never computed twice for one row.
	// Dynamic says that the value is one for a whole query in batch mode (CURRENT_DATE).
	Volatile, Dynamic bool
}

// Registry finds functions by name. It is filled before use and only read afterwards.
type Registry struct{ byName map[string]*Function }

// Add puts functions in; a name that is there already panics, since two definitions of one function are a mistake of ours.
func (r *Registry) Add(fs ...*Function) {
	if r.byName == nil {
		r.byName = map[string]*Function{}
	}
	for _, f := range fs {
		if r.byName[f.Name] != nil {
			panic("expr: two functions called " + f.Name)
		}
		r.byName[f.Name] = f
	}
}

// Find returns the function of that name, in any case of letters, or nil.
func (r *Registry) Find(name string) *Function { return r.byName[strings.ToUpper(name)] }

// Names returns all names in order.
func (r *Registry) Names() []string {
	names := make([]string, 0, len(r.byName))
	for n := range r.byName {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Apply builds the call of f, with the casts that its arguments need.
func (f *Function) Apply(args []Expr, options map[string]string) (Expr, error) {
	result, want, err := f.Resolve(args, options)
	if err != nil {
		return nil, err
	}
	cast := make([]Expr, len(args))
	for i, a := range args {
		cast[i] = a
		if i < len(want) && want[i].Root != 0 && !want[i].Same(a.Type()) {
			cast[i] = &Cast{Arg: a, Of: want[i].WithNull(a.Type().Nullable), Implicit: true}
		}
	}
	if result.Root == 0 {
		return nil, fmt.Errorf("%s has no type for %s", f.Name, list(args))
	}
	return &Call{Fn: f, Args: cast, Of: result, Options: options}, nil
}

// Aggregate is a call of an aggregate function. Its arguments are columns of the aggregate's input: what is computed is computed before.
type Aggregate struct {
	// Name is the function's in capitals: COUNT, SUM, ...
	Name string
	Args []int
	// Params are constant arguments, such as the separator of LISTAGG.
	Params   []*Literal
	Distinct bool
	// Filter is the BOOLEAN column that must be true for a row to count, or -1.
	Filter int
	// Order is the order in which rows count, for those functions where it matters.
	Order []Order
	// IgnoreNulls is that of FIRST_VALUE and its like.
	IgnoreNulls bool
	Of          datatype.Type
	// As names the result.
	As string
}

// Order is one key of an ORDER BY.
type Order struct {
	Column     int
	Descending bool
	NullsLast  bool
}
