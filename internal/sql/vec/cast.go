package vec

import (
	"fmt"

	"github.com/weir-stream/weir/internal/sql/expr"
)

// cast compiles a conversion.
func (c *compiler) cast(e *expr.Cast, arg kernel) (kernel, error) {
	if e.Of.Same(e.Arg.Type()) {
		return arg, nil
	}
	return nil, fmt.Errorf("vec: no cast from %v to %v", e.Arg.Type(), e.Of)
}

// buildMixed compiles arithmetic between different types: decimals, times and intervals.
func buildMixed(call *expr.Call, _ []kernel) (kernel, error) {
	return nil, fmt.Errorf("vec: no %s of %v and %v", call.Fn.Name, call.Args[0].Type(), call.Args[1].Type())
}
