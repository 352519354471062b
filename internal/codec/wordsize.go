package codec

import "unsafe"

// This constant overflows, and so fails to compile, where a word has less than 64 bits.
const _ = uint(unsafe.Sizeof(uintptr(0)) - 8)
