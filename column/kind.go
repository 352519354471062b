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
	// Wide is a signed number of 128 bits, the lower half first: decimals above 18 digits, times in nanoseconds.
	Wide
	// List holds lists of the values of its one child, Struct one value of each child, and Map lists of pairs: the first child
	// holds the keys, the second the values.
	List
	Struct
	Map
)

var kindNames = [...]string{"", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "string", "bytes",
	"wide", "list", "struct", "map"}

// kindWidths are the bytes of a value of fixed width; 0 for bits and whatever has no value of its own. Strings and lists have places
// of fixed width too, see Vector.
var kindWidths = [...]int{0, 0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 0, 0, 16, 0, 0, 0}

// String returns the kind's name.
func (k Kind) String() string {
	if k.known() {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", k)
}

func (k Kind) known() bool { return k >= Bool && k <= Map }

// Width returns the bytes of a value of fixed width; 0 for Bool, String, Bytes and the nested kinds.
func (k Kind) Width() int {
	if k.known() {
		return kindWidths[k]
	}
	return 0
}

func (k Kind) text() bool { return k == String || k == Bytes }

func (k Kind) spans() bool { return k == List || k == Map }

// place is how many bytes a vector's data has for each value; 0 for bits and structs.
func (k Kind) place() int {
	switch {
	case k.text():
		return 16
	case k.spans():
		return 8
	}
	return k.Width()
}

// Field describes a column.
type Field struct {
	Name string
	Kind Kind
	// Nullable says that values may be missing.
	Nullable bool
	// Children describe what nested kinds hold: one for a List, two for a Map, any number for a Struct.
	Children []Field
}

func (f *Field) check() error {
	if !f.Kind.known() {
		return fmt.Errorf("column: field %q has the unknown %v", f.Name, f.Kind)
	}
	want := len(f.Children)
	switch f.Kind {
	case List:
		want = 1
	case Map:
		want = 2
	case Struct:
	default:
		want = 0
	}
	if len(f.Children) != want {
		return fmt.Errorf("column: field %q of kind %v has %d children instead of %d", f.Name, f.Kind, len(f.Children), want)
	}
	for i := range f.Children {
		if err := f.Children[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// Schema is an ordered set of fields. It must not be changed once a batch has it.
type Schema struct{ Fields []Field }

// NewSchema returns a schema, or an error for a field of unknown kind or with wrong children.
func NewSchema(fields ...Field) (*Schema, error) {
	for i := range fields {
		if err := fields[i].check(); err != nil {
			return nil, err
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
