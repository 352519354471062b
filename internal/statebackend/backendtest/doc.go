// Package backendtest is the conformance suite of state backends: random sequences of operations run on a backend and on
// the model, and everything either of them shows is compared.
package backendtest
