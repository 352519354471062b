package csv_test

import (
	"fmt"

	"github.com/weir-stream/weir/format"
	"github.com/weir-stream/weir/format/csv"
	"github.com/weir-stream/weir/types"
)

// Decoding a file's content by hand: the head first, then whole records. A bad one is reported, and skipped here.
func Example() {
	type Delay struct {
		Carrier string
		Delay   types.Null[int32] `csv:"dep_delay"`
	}
	text := []byte("flight,carrier,dep_delay\n1545,UA,2\n1714,\"A,A\",NA\n1141,B6,late\n")

	f := csv.New[Delay](csv.Options{Nulls: []string{"NA"}})
	d, err := f.Decoder(format.DecoderContext{Where: "delays.csv", Bad: func(b format.BadRecord) error {
		fmt.Println(b)
		return nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, _, err := d.Head(text, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	d.SetPosition(int64(n), 2)
	rows, _, err := d.Decode(make([]Delay, 0, 10), text[n:], true)
	fmt.Println(rows, err)
	// Output:
	// delays.csv:4:9: field "dep_delay" is "late", want a whole number from -2147483648 to 2147483647: invalid syntax
	// [{UA 2} {A,A null}] <nil>
}
