// Package storetest is the conformance suite of objstore.Store. A store runs it in a test of its own:
//
//	storetest.Run(t, func(t *testing.T) objstore.Store { return memory.New() })
package storetest
