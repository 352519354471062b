package parser

// Keyword reports whether the lexer knows a word.
func Keyword(w string) bool { return lookup(w).kw == w }
