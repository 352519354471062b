package state

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weir-stream/weir/internal/codec"
)

// Broadcast and list states are kept as Go values and saved as bytes of their own:
//
//	+---------+--------+-------+------+---------+-----+
//	| schemas | count  | bytes | item | bytes   | ... |
//	+---------+--------+-------+------+---------+-----+
//	            uvarint  uvarint        uvarint
//
// A list has one schema and an item an element. A broadcast state has the schemas of keys and of values, and for each entry
// an item for the key and one for the value, in the order of the keys.

var errSaved = errors.New("the saved bytes are damaged")

func appendItem(dst, item []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(item))), item...)
}

// readItems reads a count and per items for each; they alias src.
func readItems(src []byte, per int) ([][]byte, error) {
	count, n := binary.Uvarint(src)
	if n <= 0 || count > uint64(len(src)) {
		return nil, errSaved
	}
	src = src[n:]
	items := make([][]byte, 0, per*int(count))
	for range per * int(count) {
		size, n := binary.Uvarint(src)
		if n <= 0 || size > uint64(len(src)-n) {
			return nil, errSaved
		}
		items = append(items, src[n:n+int(size):n+int(size)])
		src = src[n+int(size):]
	}
	if len(src) > 0 {
		return nil, errSaved
	}
	return items, nil
}

// save is the state as bytes.
func (s *broadcast[K, V]) save() []byte {
	dst := s.keys.Schema().Append(nil)
	dst = s.values.Schema().Append(dst)
	entries := s.inOrder()
	dst = binary.AppendUvarint(dst, uint64(len(entries)))
	var value []byte
	for _, e := range entries {
		value = s.values.Append(value[:0], &e.value)
		dst = appendItem(append(binary.AppendUvarint(dst, uint64(len(e.enc))), e.enc...), value)
	}
	return dst
}

// load fills the state with what save made, perhaps of other types that can be read as V.
func (s *broadcast[K, V]) load(src []byte) error {
	was, src, err := codec.ParseSchema(src)
	if err != nil {
		return err
	}
	if string(was.Append(nil)) != string(s.keys.Schema().Append(nil)) {
		return errors.New("the type of its keys has changed, which makes other keys of them: give the state another name, or take the type back")
	}
	old, src, err := codec.ParseSchema(src)
	if err != nil {
		return err
	}
	read, err := readerOf[V](s.typ, old)
	if err != nil {
		return err
	}
	items, err := readItems(src, 2)
	if err != nil {
		return err
	}
	for i := 0; i < len(items); i += 2 {
		e := &broadcastEntry[K, V]{enc: string(items[i])}
		if err := s.keys.Decode([]byte(e.enc), &e.key); err != nil {
			return err
		}
		if e.value, err = read(items[i+1]); err != nil {
			return fmt.Errorf("at key %s: %w", codec.FormatKey(was, items[i]), err)
		}
		s.entries[e.enc] = e
	}
	s.sorted = nil
	return nil
}

func (s *broadcast[K, V]) types() (*codec.Schema, *codec.Values) { return s.keys.Schema(), s.typ }

// readerOf returns what reads a saved value of the schema old as a V, by the rules of typ and its migrations.
func readerOf[V any](typ *codec.Values, old *codec.Schema) (func(b []byte) (V, error), error) {
	c, err := codec.For[V]()
	if err != nil {
		return nil, err
	}
	conversion, err := typ.From(old)
	if err != nil {
		return nil, fmt.Errorf("its values cannot be read as the type that they have now: %w", err)
	}
	var buf []byte
	return func(b []byte) (v V, err error) {
		if conversion.Rewrite != nil {
			if buf, err = conversion.Rewrite(buf[:0], b); err != nil {
				return v, fmt.Errorf("the migration failed: %w", err)
			}
			b = buf
		}
		_, err = c.DecodeCopy(b, &v)
		return v, err
	}, nil
}

// saved is elements of a list as bytes, all of one schema.
type saved struct {
	schema   []byte
	elements [][]byte
}

func readList(src []byte) (saved, error) {
	_, rest, err := codec.ParseSchema(src)
	if err != nil {
		return saved{}, err
	}
	elements, err := readItems(rest, 1)
	return saved{schema: src[:len(src)-len(rest)], elements: elements}, err
}

func (l saved) bytes() []byte {
	dst := binary.AppendUvarint(append([]byte(nil), l.schema...), uint64(len(l.elements)))
	for _, e := range l.elements {
		dst = appendItem(dst, e)
	}
	return dst
}

// decodeList reads elements as V.
func decodeList[V any](typ *codec.Values, from []saved) ([]V, error) {
	var out []V
	for _, l := range from {
		old, _, err := codec.ParseSchema(l.schema)
		if err != nil {
			return nil, err
		}
		read, err := readerOf[V](typ, old)
		if err != nil {
			return nil, err
		}
		for _, e := range l.elements {
			v, err := read(e)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
	}
	return out, nil
}
