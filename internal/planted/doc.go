// Package planted holds deliberate mistakes. Tests plant one to see whether the simulation finds it: a simulation that has
// never found anything has shown nothing. The places where a mistake would be made ask for it; they are visited once a
// checkpoint, a restore or a batch at most, never once a row. Outside of tests nothing can plant one.
package planted
