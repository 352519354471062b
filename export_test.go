package weir

import (
	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/operator"
)

// OperatorOf makes an instance of the operator that produces the stream, for tests that drive it by hand.
func OperatorOf[T any](s Stream[T]) operator.Operator {
	return s.origins[0].node.Factory.(operator.Maker)()
}

// PlanOf returns the plan of what env describes, and the world that it would run in.
func PlanOf(env *Env) (*app.Plan, app.World, error) {
	p, err := app.NewPlan(env.program())
	return p, env.world(), err
}

// HasherOf makes the function that hashes the keys of a stream's batches.
func HasherOf[K, T any](k KeyedStream[K, T]) operator.Hasher {
	return newHasher(k.key, k.codec, here())
}
