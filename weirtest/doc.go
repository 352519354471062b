// Package weirtest is what users of Weir test their jobs with.
package weirtest
