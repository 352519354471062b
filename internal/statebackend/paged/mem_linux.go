package paged

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapRegion returns n bytes of zeroed memory outside the Go heap, aligned to align (a power of two), for which huge
// pages have been asked before anything touches it. It returns nil when the system refuses.
func mapRegion(n, align uintptr) unsafe.Pointer {
	p, err := unix.MmapPtr(-1, 0, nil, n+align, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	lead := -uintptr(p) & (align - 1)
	if lead > 0 {
		_ = unix.MunmapPtr(p, lead)
	}
	base := unsafe.Add(p, lead)
	if tail := align - lead; tail > 0 {
		_ = unix.MunmapPtr(unsafe.Add(base, n), tail)
	}
	// Without huge pages the table works and is two to three times slower on random access, so a refusal is no error.
	_ = unix.Madvise(unsafe.Slice((*byte)(base), n), unix.MADV_HUGEPAGE)
	return base
}

// dropPages gives the memory back to the system and keeps the addresses: the next touch reads zeros.
func dropPages(p unsafe.Pointer, n uintptr) bool {
	return unix.Madvise(unsafe.Slice((*byte)(p), n), unix.MADV_DONTNEED) == nil
}

// unmapRegion ends a mapping made by mapRegion.
func unmapRegion(p unsafe.Pointer, n uintptr) { _ = unix.MunmapPtr(p, n) }
