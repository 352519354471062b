// Package codec turns Go values into stable bytes and back: rows on the wire, state in pages and checkpoints, keys.
//
// A codec is compiled once for each Go type, by reflection, into a list of instructions over field offsets; encoding and
// decoding a value is one loop over that list, without reflection, interface calls or allocations for what is not a
// slice, map or pointer. The bytes are described in docs/format/codec.md, those of keys in docs/format/key.md.
//
// What is encoded: the exported fields of structs, as in encoding/json. Fields of embedded structs count as fields of
// the outer one. Unexported fields are ignored and decode to zero (Codec.Ignored lists them); a struct with nothing but unexported fields
// is refused, unless it has MarshalBinary and UnmarshalBinary. The tag `weir:"name"` sets a field's id, `weir:"-"`
// leaves the field out, `weir:"name,was=old"` tells Resolve about an earlier id. Recursive types, interfaces, functions
// and channels are refused. In a key every field counts, since a key is what == compares.
//
// Invariants:
//   - Equal values have equal bytes: maps are written in the order of their keys, padding is zero.
//   - Decoding never panics, whatever the bytes, and allocates at most the input's length times a constant of the type.
//     The cost of a big.Rat is that of reducing the fraction.
//   - A decoded value aliases its input in strings and byte slices and in nothing else.
//   - Nothing here changes after it is compiled, so that everything may be used from all goroutines without a lock.
//
// The package needs a 64-bit little-endian machine, because a struct without pointers is encoded as its memory.
package codec
