// Package arch holds the module to its architecture. It is a test: `go test ./internal/testkit/arch`.
//
// policy.txt is the order of imports, budget.txt the list of what is knowingly above a limit, each with its reason. The
// rules: imports follow the order, standing negatives hold, third parties stay in their places, pure packages are pure,
// the world is touched in its packages only, exported identifiers of public packages mention no internal type, every
// package has a doc.go and every exported name a comment, files, functions and interfaces stay below their budgets, and
// names say something.
//
// A broken rule is reported with the file, the line and what to do instead. Lines of budget.txt that are no longer
// needed fail too, so that the list only shrinks.
package arch
