//go:build !invariants && !race

package event

func released[T any](*Records[T]) {}
func taken[T any](*Records[T])    {}

func releasedColumns(*Columns) {}
func takenColumns(*Columns)    {}
