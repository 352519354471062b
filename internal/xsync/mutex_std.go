//go:build !synctest

package xsync

import "sync"

// Mutex is a lock for one holder. It must not be copied after its first use.
type Mutex = sync.Mutex

// RWMutex is a lock for one writer or many readers. It must not be copied after its first use.
type RWMutex = sync.RWMutex
