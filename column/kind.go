package column

import "fmt"

// Limits of a batch. Columns pay off from some hundred rows; beyond 2,048 a batch of a few columns leaves the L2 cache.
const (
	// DefaultRows is the number of rows of a batch unless something else is asked for.
	DefaultRows = 1024
	// MaxRows is the largest number of rows of a batch.
	MaxRows = 2048
	// fullBytes is how many bytes of strings a column gathers before the batch counts as full. A single row may be larger.
	fullBytes = 4 << 20
)

// Kind is the physical form of a column.
type Kind uint8

// The kinds. String and Bytes have the same form; String is meant to be UTF-8, which is not checked.
const (
	Bool Kind = iota + 1
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
	String
	Bytes
)

var kindNames = [...]string{"", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "string", "bytes"}

// kindWidths are the bytes of a value of fixed width; 0 for bits and strings.
var kindWidths = [...]int{0, 0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 0, 0}

// String returns the kind's name.
func (k Kind) String() string {
	if k.known() {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", k)
}

func (k Kind) known() bool { return k >= Bool && k <= Bytes }

// Width returns the bytes of a value; 0 for Bool, String and Bytes.
func (k Kind) Width() int {
	if k.known() {
		return kindWidths[k]
	}
	return 0
}

func (k Kind) text() bool { return k == String || k == Bytes }

// Field describes a column.
type Field struct {
	Name string
	Kind Kind
	// Nullable says that values may be missing.
	Nullable bool
}

// Schema is an ordered set of fields. It must not be changed once a batch has it.
type Schema struct{ Fields []Field }

// NewSchema returns a schema, or an error for a field of unknown kind.
func NewSchema(fields ...Field) (*Schema, error) {
	for _, f := range fields {
		if !f.Kind.known() {
			return nil, fmt.Errorf("column: field %q has the unknown %v", f.Name, f.Kind)
		}
	}
	return &Schema{Fields: fields}, nil
}

// Index returns the number of the field of that name, or -1.
func (s *Schema) Index(name string) int {
	for i, f := range s.Fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// Change says what a row does to the table that its stream describes.
type Change uint8

// The changes, as Flink's RowKind numbers them.
const (
	Insert Change = iota
	UpdateBefore
	UpdateAfter
	Delete
)

// String returns the change in Flink's short form.
func (c Change) String() string {
	if c <= Delete {
		return [...]string{"+I", "-U", "+U", "-D"}[c]
	}
	return fmt.Sprintf("change(%d)", uint8(c))
}
