package codec

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// FormatKey prints the key of a schema whose encoding is the whole of src, for people: "JFK", 7, {JFK 7}. What cannot be
// read is printed in hexadecimal.
func FormatKey(s *Schema, src []byte) string {
	r := keyPrinter{src: src}
	var b strings.Builder
	if !r.print(&b, s, true) || len(r.src) > 0 {
		return "0x" + hex.EncodeToString(src)
	}
	return b.String()
}

// keyPrinter reads a key from the front.
type keyPrinter struct{ src []byte }

// take returns the next n bytes, or nil.
func (r *keyPrinter) take(n int) []byte {
	if n > len(r.src) {
		return nil
	}
	b := r.src[:n:n]
	r.src = r.src[n:]
	return b
}

// print appends the text of a key of s. last says that nothing follows it in the key.
func (r *keyPrinter) print(b *strings.Builder, s *Schema, last bool) bool {
	switch s.Kind {
	case KindStruct:
		return r.fields(b, s, last)
	case KindArray:
		return r.array(b, s, last)
	case KindString:
		text, ok := r.text(last)
		b.WriteString(strconv.Quote(text))
		return ok
	case KindAddr, KindPrefix, KindAddrPort:
		return r.address(b, s.Kind, last)
	case KindTime:
		raw := r.take(12)
		if raw == nil {
			return false
		}
		t := time.Unix(int64(binary.BigEndian.Uint64(raw)^1<<63), int64(binary.BigEndian.Uint32(raw[8:]))).UTC()
		b.WriteString(t.Format(time.RFC3339Nano))
		return true
	case KindComplex64, KindComplex128:
		half := &Schema{Kind: KindFloat32}
		if s.Kind == KindComplex128 {
			half.Kind = KindFloat64
		}
		b.WriteByte('(')
		ok := r.print(b, half, false)
		b.WriteByte(' ')
		ok = ok && r.print(b, half, last)
		b.WriteByte(')')
		return ok
	}
	return r.scalar(b, s.Kind)
}

func (r *keyPrinter) scalar(b *strings.Builder, k Kind) bool {
	n := scalarSize[k]
	raw := r.take(int(n))
	if n == 0 || raw == nil {
		return false
	}
	v := readUint(raw, n)
	switch k {
	case KindBool:
		b.WriteString(strconv.FormatBool(v == 1))
	case KindFloat32, KindFloat64:
		top := uint64(1) << (8*n - 1)
		if v&top != 0 {
			v ^= top
		} else {
			v = ^v
		}
		f := math.Float64frombits(v)
		if n == 4 {
			f = float64(math.Float32frombits(uint32(v)))
		}
		b.WriteString(strconv.FormatFloat(f, 'g', -1, int(8*n)))
	case KindInt8, KindInt16, KindInt32, KindInt64:
		shift := 64 - 8*n
		b.WriteString(strconv.FormatInt(int64((v^1<<(8*n-1))<<shift)>>shift, 10))
	default:
		b.WriteString(strconv.FormatUint(v, 10))
	}
	return true
}

// text reads a string, which ends with the key or with two zero bytes.
func (r *keyPrinter) text(last bool) (string, bool) {
	if last {
		return string(r.take(len(r.src))), true
	}
	s, rest, err := readEscaped(r.src)
	r.src = rest
	return s, err == nil
}

func (r *keyPrinter) fields(b *strings.Builder, s *Schema, last bool) bool {
	end := len(s.Fields) - 1
	for end >= 0 && !hasContent(s.Fields[end].Type) {
		end--
	}
	b.WriteByte('{')
	for i := range s.Fields {
		if i > 0 {
			b.WriteByte(' ')
		}
		if !r.print(b, s.Fields[i].Type, last && i == end) {
			return false
		}
	}
	b.WriteByte('}')
	return true
}

// hasContent says whether a key's part takes memory.
func hasContent(s *Schema) bool {
	switch s.Kind {
	case KindArray:
		return s.Len > 0 && hasContent(s.Elem)
	case KindStruct:
		for i := range s.Fields {
			if hasContent(s.Fields[i].Type) {
				return true
			}
		}
		return false
	}
	return true
}

func (r *keyPrinter) array(b *strings.Builder, s *Schema, last bool) bool {
	if s.Elem.Kind == KindUint8 {
		raw := r.take(s.Len)
		fmt.Fprintf(b, "%x", raw)
		return raw != nil
	}
	if !hasContent(s) {
		b.WriteString("[]")
		return true
	}
	b.WriteByte('[')
	for i := range s.Len {
		if i > 0 {
			b.WriteByte(' ')
		}
		if !r.print(b, s.Elem, last && i == s.Len-1) {
			return false
		}
	}
	b.WriteByte(']')
	return true
}

func (r *keyPrinter) address(b *strings.Builder, k Kind, last bool) bool {
	var (
		a   netip.Addr
		p   netip.Prefix
		err error
	)
	switch k {
	case KindPrefix:
		if p, r.src, err = readKeyPrefix(r.src); err == nil {
			b.WriteString(p.String())
		}
		return err == nil
	case KindAddrPort:
		last = false
	}
	code := keyAddr
	if last {
		code = keyAddrTail
	}
	if a, r.src, err = readKeyAddr(code, r.src); err != nil {
		return false
	}
	if k == KindAddr {
		b.WriteString(a.String())
		return true
	}
	port := r.take(2)
	if port != nil {
		b.WriteString(netip.AddrPortFrom(a, binary.BigEndian.Uint16(port)).String())
	}
	return port != nil
}
