package format

// Format describes how rows of type T are written as bytes.
type Format[T any] interface {
	// Name is the format's name for plans and messages ("csv").
	Name() string
	// Check reports why T cannot be read or written in this format, or nil. It is called when a job is built.
	Check() error
	// Splittable reports whether every newline in the data ends a record, so that reading may begin behind any of them.
	Splittable() bool
	// Extension is the usual ending of file names, with its dot (".csv").
	Extension() string
	// Decoder makes a decoder. It fails if Check does.
	Decoder(ctx DecoderContext) (Decoder[T], error)
	// Encoder makes an encoder. It fails if Check does.
	Encoder() (Encoder[T], error)
}

// DecoderContext is what a decoder knows of where its bytes come from.
type DecoderContext struct {
	// Where names the origin in messages (a path).
	Where string
	// Bad is told of each record that cannot be decoded. If it returns an error, Decode stops with that error; if it
	// returns nil, the record is skipped. A nil Bad fails at the first one.
	Bad func(BadRecord) error
	// Text makes the strings of decoded rows. Decoders that run on one goroutine may share one. Nil means one of its own.
	Text *Text
}

// Decoder turns bytes into rows. It belongs to one goroutine.
type Decoder[T any] interface {
	// Head reads what stands before the first record of a file (a byte order mark, a header). It is called before Decode,
	// with the file's first bytes, also if decoding then begins somewhere else. n bytes belong to the head; ok is false if
	// more bytes are needed (never if last is true, which says that data reaches to the end of the file).
	Head(data []byte, last bool) (n int, ok bool, err error)
	// SetPosition says where in the file the next byte given to Decode stands, for messages. Lines count from 1.
	SetPosition(offset, line int64)
	// Decode appends the rows of whole records at the start of data to rows, until rows has no capacity left or data holds
	// no further whole record, and returns rows and the number of bytes used. With last, data reaches to the end and the
	// last record may lack its line end. The caller presents the bytes that were not used again, with more behind them.
	// After an error, rows holds what was decoded before it.
	Decode(rows []T, data []byte, last bool) (out []T, n int, err error)
}

// Encoder turns rows into bytes. It belongs to one goroutine.
type Encoder[T any] interface {
	// AppendHead appends what stands before the first record of a file.
	AppendHead(dst []byte) []byte
	// Append appends rows. After an error, dst has the length that it had before.
	Append(dst []byte, rows []T) ([]byte, error)
}

// BadRecord is a record that could not be decoded, with everything a person needs to find and mend it.
type BadRecord struct {
	// Where is the file, topic and partition, or whatever the record came from.
	Where string
	// Line and Column count from 1; 0 where they make no sense. Column counts bytes.
	Line, Column int64
	// Offset is the record's position in bytes or messages.
	Offset int64
	// Field is the column or field that failed, or "".
	Field string
	// Value is the text that failed, cut to a length that can be printed.
	Value string
	// Want says what was expected instead ("a whole number", "20 fields").
	Want string
	// Raw is the whole record as it came in; valid during the call only.
	Raw []byte
	// Err is the cause, or nil.
	Err error
}
