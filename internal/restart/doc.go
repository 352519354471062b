// Package restart decides whether a failed job is restarted, and after how long. It is pure: instants and the source of
// jitter are handed in.
//
//	none                never
//	fixed-delay         up to so many times, each after the same delay
//	failure-rate        as long as no more than so many failures fall into an interval that ends now
//	exponential-delay   after a delay that grows from failure to failure and begins anew after a time without any
//
// The options and what they do are Flink's, except for the defaults that package config names. One is fixed here: with
// exponential-delay, failures while a restart is under way are one failure with it, as in Flink since 1.19: the master asks
// once for each restart, so there is nothing to merge.
//
// Repeats is beside the strategies: it recognizes a job that fails on the same record again and again, which none of the
// strategies would ever give up. Stalls is the wider net: whatever fails in the same way without a checkpoint in between.
package restart
