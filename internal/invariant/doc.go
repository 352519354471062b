// Package invariant holds checks that cost nothing in a production build.
//
// They are on under the build tag `invariants` and under `race`; [Enabled] says so, and because it is a constant, code
// under `if invariant.Enabled` is compiled away otherwise. A broken invariant is a bug in the engine and panics; bad
// input never does, it is an error. [Always] is for the few cheap checks that stay on.
package invariant
