//go:build !linux

package paged

import "time"

var start = time.Now()

// threadTime returns the time since the start: there is no portable clock of a thread.
func threadTime() time.Duration { return time.Since(start) }
