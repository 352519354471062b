// Package bin has the byte-level pieces that every Weir format shares: variable-length lengths and length-prefixed
// strings, written by appending and read with a check before every access.
//
// Nothing here panics on bad input and nothing allocates: what is read aliases the input.
package bin
