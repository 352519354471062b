package parser_test

import (
	"strings"
	"testing"

	"github.com/weir-stream/weir/bench/nexmark"
	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/parser"
)

// query returns the INSERT of a benchmark's query.
func query(b *testing.B, name string) string {
	b.Helper()
	for _, p := range parser.ParseScript(nexmark.Script("'connector' = 'source'")) {
		if strings.HasPrefix(p.Text, "INSERT INTO nexmark_"+name+"\n") {
			return p.Text
		}
	}
	b.Fatalf("no query %s", name)
	return ""
}

// BenchmarkParse parses one query; BenchmarkPrint prints it.
func BenchmarkParse(b *testing.B) {
	for _, name := range []string{"q0", "q5", "q9", "q16"} {
		text := query(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := parser.Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPrint prints a query.
func BenchmarkPrint(b *testing.B) {
	s, err := parser.Parse(query(b, "q9"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if ast.String(s) == "" {
			b.Fatal("nothing")
		}
	}
}
