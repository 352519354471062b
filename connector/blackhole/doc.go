// Package blackhole is the sink that throws rows away, for measuring and for jobs whose results are side outputs.
package blackhole
