package parser

import (
	"strings"

	"github.com/weir-stream/weir/internal/sql/ast"
)

// kind is the kind of a token.
type kind uint8

const (
	tEOF kind = iota
	// tWord is a name or keyword without backticks.
	tWord
	// tQuoted is a name in backticks.
	tQuoted
	tNumber
	// tString is a string; its kw is "_charset" if it has one.
	tString
	// tUnicode is U&'...', whose escapes are resolved only when it is known whether UESCAPE follows.
	tUnicode
	tBinary
	// tOp is an operator or a bracket.
	tOp
	// tError is what cannot be read; its text says why.
	tError
)

// token is one token of a statement.
type token struct {
	// kw is the keyword in upper case, or the operator; "" for names that are no keyword.
	kw string
	// text is a name without backticks, a string's value, a number as written, digits of a binary.
	text string
	pos  ast.Pos
	// end is the offset behind the token.
	end  int32
	kind kind
	// reserved says that the word is no name.
	reserved bool
	infix    infix
}

// infix says what a token does between two operands.
type infix uint8

const (
	infixNone infix = iota
	infixOr
	infixAnd
	infixEq
	infixNotEq
	infixLess
	infixLessEq
	infixGreater
	infixGreaterEq
	infixContains
	infixOverlaps
	infixEquals
	infixPrecedes
	infixSucceeds
	infixAdd
	infixSub
	infixMul
	infixDiv
	infixMod
	infixConcat
	// From here on an operator needs more than a right operand.
	infixImmediately
	infixMember
	infixSubmultiset
	infixMultiset
	infixIs
	infixNot
	infixIn
	infixBetween
	infixLike
	infixILike
	infixRLike
	infixSimilar
	infixFormat
)

// word is what is known of a keyword.
type word struct {
	kw       string
	reserved bool
	infix    infix
}

// otherWords are the words that the grammar knows and that are names elsewhere.
const otherWords = `
	A ABSENT ADD AFTER ANALYZE APPLY ARRAY_AGG ARTIFACT ASC BERNOULLI CASCADE CATALOG CHANGELOG_MODE CLEAR COLUMNS COMPILE COMPUTE
	CONDITIONAL CONFLICT CONNECTION CONSTRAINTS DATABASE DATE_DIFF DEDUPLICATE DESC DESCRIPTOR DO DRAIN ENFORCED ERROR ESTIMATED_COST
	EXCLUDING EXIT FINAL FIRST FOLLOWING FORMAT GENERATED HELP IF IGNORE IMMEDIATELY INCLUDING JAR JARS JAVA JOB JOBS JSON
	JSON_EXECUTION_PLAN KEY LAST LOAD MAP METADATA MODEL NOTHING NULLS OBJECT OPTIONS ORDINALITY OVERWRITE OVERWRITING
	PARTIAL PARTITIONED PARTITIONS PASSING PAST PLACING PLAN PLAN_ADVICE PRECEDING PYTHON QUIT REMOVE REPEATABLE REPLACE
	RESPECT RESTRICT RETURNING SAVEPOINT SCALAR SETS STATISTICS STOP SUBSTITUTE TEMPORARY TIES TIMESTAMPADD TIMESTAMPDIFF
	UNBOUNDED UNCONDITIONAL UNLOAD VERBOSE VIEW VIRTUAL WRAPPER ZONE
	DAYS HOURS MICROSECOND MILLISECOND MINUTES MONTHS NANOSECOND QUARTER SECONDS WEEK YEARS
	CENTURY DECADE DOW DOY EPOCH ISODOW ISOYEAR MILLENNIUM
`

var infixWords = map[string]infix{
	"OR": infixOr, "AND": infixAnd, "CONTAINS": infixContains, "OVERLAPS": infixOverlaps, "EQUALS": infixEquals,
	"PRECEDES": infixPrecedes, "SUCCEEDS": infixSucceeds, "IMMEDIATELY": infixImmediately, "MEMBER": infixMember,
	"SUBMULTISET": infixSubmultiset, "MULTISET": infixMultiset, "IS": infixIs, "NOT": infixNot, "IN": infixIn,
	"BETWEEN": infixBetween, "LIKE": infixLike, "ILIKE": infixILike, "RLIKE": infixRLike, "SIMILAR": infixSimilar,
	"FORMAT": infixFormat,
}

// words are all keywords by their upper-case text.
var words = func() map[string]word {
	m := map[string]word{}
	for _, w := range strings.Fields(otherWords) {
		m[w] = word{kw: w, infix: infixWords[w]}
	}
	for _, w := range ast.ReservedWords() {
		m[w] = word{kw: w, reserved: true, infix: infixWords[w]}
	}
	return m
}()

// wordLengthMax is more than the length of any keyword.
const wordLengthMax = 48

// lookup returns what is known of a word written in any case.
func lookup(text string) word {
	var buf [wordLengthMax]byte
	if len(text) > len(buf) {
		return word{}
	}
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		buf[i] = c
	}
	return words[string(buf[:len(text)])]
}
