// Package nexmark has the queries of the benchmark as files, for tests and benchmarks that run or read them. README.md says how a query
// is run, SPEC.md what its events are.
package nexmark
