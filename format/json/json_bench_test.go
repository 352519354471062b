package json_test

import (
	"bytes"
	"encoding/json/v2"
	"fmt"
	"testing"

	"github.com/weir-stream/weir/format"
	weirjson "github.com/weir-stream/weir/format/json"
)

type bid struct {
	Auction  int64  `json:"auction"`
	Bidder   int64  `json:"bidder"`
	Price    int64  `json:"price"`
	Channel  string `json:"channel"`
	URL      string `json:"url"`
	DateTime int64  `json:"date_time"`
	Extra    string `json:"extra"`
}

const benchRows = 2000

func bidText(escape string) []byte {
	var b bytes.Buffer
	for i := range benchRows {
		fmt.Fprintf(&b, `{"auction":%d,"bidder":%d,"price":%d,"channel":"channel-%d","url":"https://www.nexmark.com/item.htm?query=1%schannel_id=%d","date_time":%d,"extra":"%060d"}`+"\n",
			1000+i, 2000+i*7, i*i, i%10, escape, i*31, 1600000000000+i, i)
	}
	return b.Bytes()
}

func benchDecode(b *testing.B, text []byte) {
	d, err := weirjson.New[bid](weirjson.Options{}).Decoder(format.DecoderContext{})
	if err != nil {
		b.Fatal(err)
	}
	batch := make([]bid, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		rows := 0
		for at := 0; at < len(text); {
			out, n, err := d.Decode(batch[:0], text[at:], true)
			if err != nil {
				b.Fatal(err)
			}
			rows += len(out)
			at += n
		}
		if rows != benchRows {
			b.Fatal(rows)
		}
	}
	perRow(b, text)
}

func perRow(b *testing.B, text []byte) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
	b.SetBytes(int64(len(text)))
}

// BenchmarkBids decodes seven members in the struct's order.
func BenchmarkBids(b *testing.B) { benchDecode(b, bidText("&")) }

// BenchmarkEscapes has one escape in each row, as Go's encoder makes them.
func BenchmarkEscapes(b *testing.B) { benchDecode(b, bidText(`\u0026`)) }

// BenchmarkV2 does the same by json/v2.
func BenchmarkV2(b *testing.B) {
	text := bidText("&")
	b.ReportAllocs()
	for b.Loop() {
		for at := 0; at < len(text); {
			n := bytes.IndexByte(text[at:], '\n') + 1
			var row bid
			if err := json.Unmarshal(text[at:at+n], &row); err != nil {
				b.Fatal(err)
			}
			at += n
		}
	}
	perRow(b, text)
}

// BenchmarkNewlines looks for line ends only: the floor.
func BenchmarkNewlines(b *testing.B) {
	text := bidText("&")
	for b.Loop() {
		for at := 0; at < len(text); {
			at += bytes.IndexByte(text[at:], '\n') + 1
		}
	}
	perRow(b, text)
}

// BenchmarkEncode appends rows; BenchmarkEncodeV2 does the same by json/v2.
func BenchmarkEncode(b *testing.B) {
	e, err := weirjson.New[bid](weirjson.Options{}).Encoder()
	if err != nil {
		b.Fatal(err)
	}
	rows := make([]bid, benchRows)
	for i := range rows {
		rows[i] = bid{int64(i), int64(i * 7), 100, "channel-1", "https://www.nexmark.com/item.htm?query=1", 1600000000000, "some text of a usual length"}
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		if dst, err = e.Append(dst[:0], rows); err != nil {
			b.Fatal(err)
		}
	}
	perRow(b, dst)
}

func BenchmarkEncodeV2(b *testing.B) {
	row := bid{1, 7, 100, "channel-1", "https://www.nexmark.com/item.htm?query=1", 1600000000000, "some text of a usual length"}
	b.ReportAllocs()
	for b.Loop() {
		for range benchRows {
			if _, err := json.Marshal(&row, json.Deterministic(true)); err != nil {
				b.Fatal(err)
			}
		}
	}
	perRow(b, nil)
}
