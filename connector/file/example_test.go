package file_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/connector/print"
	"github.com/weir-stream/weir/format/csv"
	"github.com/weir-stream/weir/types"
)

// A CSV file whose missing values are written as NA, read into a struct that names two of its three columns.
func ExampleCSV() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.ToSlash(filepath.Join(dir, "delays.csv"))
	if err := os.WriteFile(path, []byte("flight,carrier,dep_delay\n1545,UA,2\n1714,UA,NA\n1141,AA,-1\n"), 0o600); err != nil {
		panic(err)
	}

	type Delay struct {
		Flight int32
		Delay  types.Null[int32] `csv:"dep_delay"`
	}
	env := weir.NewEnv("delays").Parallelism(1).Output(os.Stdout)
	weir.From(env, "delays", file.CSV[Delay](path, file.Dialect(csv.Options{Nulls: []string{"NA"}}))).
		Filter(func(d Delay) bool { return d.Delay.Valid }).
		To("out", print.Sink[Delay]())
	if _, err := env.Execute(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {Flight:1545 Delay:2}
	// {Flight:1141 Delay:-1}
}
