// Package config holds typed options.
package config
