// Package model keeps keyed state in Go maps. It is slow and obviously right: every other backend is checked against it.
package model
