package functions

import (
	"fmt"
	"strings"

	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
)

// Scalars has all scalar functions.
var Scalars = func() *expr.Registry {
	r := &expr.Registry{}
	for _, g := range [][]*expr.Function{arithmetic, predicates} {
		r.Add(g...)
	}
	return r
}()

// types returns the types of arguments.
func types(args []expr.Expr) []datatype.Type {
	out := make([]datatype.Type, len(args))
	for i, a := range args {
		out[i] = a.Type()
	}
	return out
}

// anyNull reports whether one of the arguments may be missing: most functions then yield nothing.
func anyNull(args []expr.Expr) bool {
	for _, a := range args {
		if a.Type().Nullable {
			return true
		}
	}
	return false
}

// refuse is the error for arguments that a function does not take.
func refuse(name string, args []expr.Expr, takes string) error {
	s := make([]string, len(args))
	for i, t := range types(args) {
		s[i] = t.String()
	}
	return fmt.Errorf("%s cannot be applied to (%s): it takes %s", name, strings.Join(s, ", "), takes)
}

// count checks the number of arguments.
func count(name string, args []expr.Expr, least, most int) error {
	if len(args) >= least && len(args) <= most {
		return nil
	}
	want := fmt.Sprint(least)
	if most != least {
		want = fmt.Sprintf("%d to %d", least, most)
	}
	return fmt.Errorf("%s takes %s arguments, not %d", name, want, len(args))
}
