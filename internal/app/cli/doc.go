// Package cli is the command line of a program that was built around weir.Main: its flags, the progress view and the
// summary at the end. Rows of print sinks go to standard output; everything that this package writes goes to standard error.
package cli
