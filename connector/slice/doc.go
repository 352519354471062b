// Package slice is the source of rows that the program already has. Each process of a job must build the same rows.
package slice
