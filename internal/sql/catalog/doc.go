// Package catalog remembers what a session knows by name: catalogs with their databases, and in these tables and views. It is kept in memory.
//
// A Catalogs may be used by any number of goroutines; the tables and views in it never change, an ALTER puts another in their place.
package catalog
