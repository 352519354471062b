// Package rpctest is the conformance suite of rpc.Conn: every form of connection must pass it.
package rpctest
