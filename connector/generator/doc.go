// Package generator is the source of rows that a function makes out of their numbers: test data, load, clocks.
package generator
