// Package config holds typed options: a key, a type, a default, a check and a sentence of documentation in one value.
//
//	var Parallelism = config.Between(config.Int("parallelism.default", 1, "Parallelism of operators that set none."), 1, 32768)
//
//	reg := config.NewRegistry(config.Core()...)
//	c := reg.New()
//	err := c.Set("parallelism.default", "4", config.FromFlag, "-D")
//	p := c.Get(config.Parallelism)
//
// A Registry is a value: nothing registers itself, and a program that adds options hands them to NewRegistry. A key that
// no registered option has is refused, with the nearest right key; a value that an option does not understand is refused
// when it is set, with the form it must have. Nothing is ignored in silence.
//
// Keys have Flink's names where Flink has the same thing; docs/ops/config.md, generated from the core options, lists them.
//
// Options and registries never change after they are made and may be used by any goroutine. A Config belongs to one
// goroutine while it is filled, and may be read by any after that.
package config
