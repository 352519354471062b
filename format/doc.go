// Package format defines how bytes become rows and rows become bytes, for the formats in the folders below it and for
// those that anybody writes outside this module. It knows no connector: a file, a message or a test may hold the bytes.
//
// A Format is a value of the plan: compiled once for a row type, used concurrently, never changed. Decoders and encoders
// that it makes belong to one goroutine each.
//
// # Who owns what
//
// The input of Decode is the caller's and is used again after the call. A decoder therefore copies every text that it
// puts into a row, by means of Text, which makes one allocation for many strings.
//
// # Bad records
//
// A record that cannot be decoded is reported through DecoderContext.Bad with everything that a person needs to find it,
// and is then skipped or ends the decoding, as Bad's answer says.
package format
