// Package basic holds the stateless operators of the typed API (map, filter, flatMap), the emitter that every typed
// operator uses to fill its output batches, and the codec of typed batches for edges that leave the process.
//
// Each operator works on whole batches: one call from the chain a batch, and within it one call of the user's function a
// row. Filter narrows the selection in place; the others fill new batches from their own pool and release the input.
package basic
