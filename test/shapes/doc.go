// Package shapes holds the test that a program gives the same rows in whatever shape it runs: in one process or as several
// worker processes, at any parallelism. Its program is made of many small pipelines, at least one for each operator of the
// API, and moves the rows of each between processes in their own types.
package shapes
