//go:build !linux

package paged

import "unsafe"

// On other systems every block comes from the Go heap, where the collector does not scan it either.

func mapRegion(n, align uintptr) unsafe.Pointer { return nil }

func dropPages(p unsafe.Pointer, n uintptr) bool { return false }

func unmapRegion(p unsafe.Pointer, n uintptr) {}
