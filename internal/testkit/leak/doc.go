// Package leak fails tests that leave goroutines behind.
//
// A package with goroutines of its own says
//
//	func TestMain(m *testing.M) { leak.Main(m) }
//
// and a test that wants to know for itself calls [Check] first. A goroutine counts if a function of this module is on its
// stack or started it; those of the testing package, of the runtime and of idle HTTP connections do not. Whoever ends
// gets some time to do so. What is still there is printed with its stack, and marked if the runtime's own profile knows
// that it can never go on.
package leak
