// Package conffile reads weir.yaml into a configuration.
//
// Keys may be flat (parallelism.default: 4), nested (parallelism: {default: 4}) or both mixed. A list is a value of a list
// option. Every mistake is reported at once, each with file and line. The package stands apart from config because that
// one imports no third party.
package conffile
