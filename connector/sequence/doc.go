// Package sequence is the source of consecutive whole numbers.
package sequence
