package main

import (
	"encoding/json"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/print"
)

// jsonLines prints rows as JSON.
func jsonLines[T any]() connector.Sink[T] {
	return print.Func(func(dst []byte, row T) []byte {
		b, err := json.Marshal(row)
		if err != nil {
			panic(err)
		}
		return append(dst, b...)
	})
}
