// Package proc is the process that a program runs in: its arguments, environment, standard streams, signals and end. It is
// one of the few packages that may touch the operating system; everything else is handed a Process.
package proc
