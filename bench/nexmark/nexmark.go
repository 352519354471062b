package nexmark

import (
	"embed"
	"regexp"
	"strconv"
	"strings"
)

//go:embed queries/*.sql
var queries embed.FS

// Queries is how many there are: q0 to q23.
const Queries = 24

var placeholder = regexp.MustCompile(`\$\{[A-Z_]+\}`)

// DDL returns the statements that every query begins with. Options take the place of each ${...}.
func DDL(options string) string { return text("ddl", options) }

// Query returns query n: a sink and one INSERT.
func Query(n int, options string) string { return text("q"+strconv.Itoa(n), options) }

// Script returns the statements of all queries, one query behind the other.
func Script(options string) string {
	var b strings.Builder
	b.WriteString(DDL(options))
	for n := range Queries {
		b.WriteString("\n" + Query(n, options))
	}
	return b.String()
}

func text(name, options string) string {
	data, err := queries.ReadFile("queries/" + name + ".sql")
	if err != nil {
		panic(err) // the files are part of the package
	}
	return placeholder.ReplaceAllLiteralString(string(data), options)
}
