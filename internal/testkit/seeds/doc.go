// Package seeds runs a test over many random seeds, each of which can be replayed.
//
// By default a test tries the few seeds it asks for, the same in each run. WEIR_SEEDS=n (make soak SEEDS=n) makes it try n,
// from a start that differs from run to run; WEIR_SEED=s tries only s. Each seed is a subtest named after it, so a failure
// says how to have it again.
package seeds
