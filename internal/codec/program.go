package codec

import (
	"reflect"
	"unsafe"
)

// opcode is one step of a compiled encoder or decoder.
type opcode uint8

const (
	opCopy   opcode = iota // n bytes between memory and the encoding
	opCopy1                // the frequent widths, without a call
	opCopy2                //
	opCopy4                //
	opCopy8                //
	opCopy16               //
	opCopy24               //
	opCopy32               //
	opZero                 // encoder: n zero bytes of padding
	opSkip                 // decoder: n bytes are not looked at
	opBool                 // decoder: a byte that must be 0 or 1
	opString
	opBytes
	opTime
	opAddr
	opPrefix
	opAddrPort
	opBigInt
	opBigRat
	opOpaque
	opLoop       // sub.count times sub, for arrays
	opSlice      // count and sub for each element
	opSliceBulk  // count and the elements' memory
	opPointer    // null byte and sub
	opMap        // count, then key and value for each entry
	opWiden      // decoder: sub.from to sub.to
	opBox        // decoder: a new value of sub.typ by sub, and the pointer to it
	opSkipSchema // decoder: a value of sub.schema is not looked at
)

// op is an instruction: off is the place in memory relative to the value that the program works on. n is the number of
// encoded bytes if it is the same for every value, and 0 otherwise.
type op struct {
	code opcode
	off  uint32
	n    uint32
	sub  *sub
}

// sub is what an instruction needs beyond offset and count. It is immutable once compiled.
type sub struct {
	prog   []op
	typ    reflect.Type // of the slice, map, opaque value; the target of a pointer
	count  int          // elements of an array
	stride uintptr      // memory from element to element
	least  int          // decoder: least encoded bytes of an element
	key    *keyProgram  // of a map
	schema *Schema      // decoder: what to skip
	from   Kind         // decoder: widening
	to     Kind
	path   string // decoder: for messages
}

// frequent turns a copy of a frequent width into its own instruction.
func frequent(prog []op) []op {
	for i := range prog {
		if o := &prog[i]; o.code == opCopy {
			switch o.n {
			case 1:
				o.code = opCopy1
			case 2:
				o.code = opCopy2
			case 4:
				o.code = opCopy4
			case 8:
				o.code = opCopy8
			case 16:
				o.code = opCopy16
			case 24:
				o.code = opCopy24
			case 32:
				o.code = opCopy32
			}
		}
	}
	return prog
}

// addCopy appends a copy, or lengthens the last one if both encoding and memory continue it.
func addCopy(prog []op, off uintptr, n uintptr) []op {
	if n == 0 {
		return prog
	}
	if last := len(prog) - 1; last >= 0 && prog[last].code == opCopy &&
		uintptr(prog[last].off)+uintptr(prog[last].n) == off {
		prog[last].n += uint32(n)
		return prog
	}
	return append(prog, op{code: opCopy, off: uint32(off), n: uint32(n)})
}

// leafOps are the kinds that are one instruction in both directions.
var leafOps = map[Kind]opcode{
	KindString: opString, KindBytes: opBytes, KindTime: opTime, KindAddr: opAddr, KindPrefix: opPrefix,
	KindAddrPort: opAddrPort, KindBigInt: opBigInt, KindBigRat: opBigRat,
}

// compileEncoder appends the instructions that encode a value of n at off.
func compileEncoder(prog []op, n *node, off uintptr) []op {
	if n.dense {
		return addCopy(prog, off, n.typ.Size())
	}
	switch n.schema.Kind {
	case KindStruct:
		end := off
		for _, f := range n.fields {
			if n.fixed {
				prog = addZero(prog, off+f.off-end)
			}
			prog = compileEncoder(prog, f.n, off+f.off)
			end = off + f.off + f.n.typ.Size()
		}
		if n.fixed {
			prog = addZero(prog, off+n.typ.Size()-end)
		}
		return prog
	case KindArray:
		if n.typ.Size() == 0 {
			return prog
		}
		s := encoderSub(n)
		s.count = n.schema.Len
		return append(prog, op{code: opLoop, off: uint32(off), sub: s})
	case KindSlice:
		if n.elem.dense {
			return append(prog, op{code: opSliceBulk, off: uint32(off), sub: encoderSub(n)})
		}
		return append(prog, op{code: opSlice, off: uint32(off), sub: encoderSub(n)})
	case KindPointer:
		return append(prog, op{code: opPointer, off: uint32(off), sub: encoderSub(n)})
	case KindMap:
		s := encoderSub(n)
		s.key = n.key.program()
		return append(prog, op{code: opMap, off: uint32(off), sub: s})
	case KindOpaque:
		return append(prog, op{code: opOpaque, off: uint32(off), sub: &sub{typ: n.typ}})
	}
	return append(prog, op{code: leafOps[n.schema.Kind], off: uint32(off)})
}

func encoderSub(n *node) *sub {
	return &sub{prog: frequent(compileEncoder(nil, n.elem, 0)), typ: n.typ, stride: n.elem.typ.Size()}
}

func addZero(prog []op, n uintptr) []op {
	if n == 0 {
		return prog
	}
	return append(prog, op{code: opZero, n: uint32(n)})
}

// compileDecoder appends the instructions that read bytes of st.old into a value of n at off.
func compileDecoder(prog []op, st *step, n *node, off uintptr, path string) []op {
	if st.same && n.plain {
		return addCopy(prog, off, n.typ.Size())
	}
	o := op{off: uint32(off), sub: &sub{path: path}}
	if st.widen {
		o.code, o.sub.from, o.sub.to = opWiden, st.old.Kind, st.new.Kind
		return append(prog, o)
	}
	if st.box {
		o.code, o.sub.typ = opBox, n.typ
		o.sub.prog = frequent(compileDecoder(nil, st.elem, n.elem, 0, path))
		return append(prog, o)
	}
	switch n.schema.Kind {
	case KindBool:
		o.code = opBool
	case KindStruct:
		return compileStructDecoder(prog, st, n, off, path)
	case KindArray:
		o.code, o.sub.count = opLoop, n.schema.Len
		decoderSub(o.sub, st, n, path+"[]")
		if o.sub.count == 0 || len(o.sub.prog) == 0 {
			return prog
		}
	case KindSlice:
		o.code = opSlice
		if st.elem.same && n.elem.plain {
			o.code = opSliceBulk
		}
		decoderSub(o.sub, st, n, path+"[]")
	case KindPointer:
		o.code = opPointer
		decoderSub(o.sub, st, n, path)
	case KindMap:
		o.code = opMap
		decoderSub(o.sub, st, n, path+"[]")
		o.sub.key = n.key.program()
	case KindOpaque:
		o.code, o.sub.typ = opOpaque, n.typ
	default:
		o.code = leafOps[n.schema.Kind]
	}
	return append(prog, o)
}

func compileStructDecoder(prog []op, st *step, n *node, off uintptr, path string) []op {
	end := 0
	for _, fs := range st.fields {
		of := &st.old.Fields[fs.old]
		if st.old.Aligned {
			prog = st.gap(prog, n, off, end, of.Offset)
			w, _ := of.Type.width()
			end = of.Offset + int(w)
		}
		switch w, static := of.Type.width(); {
		case fs.step != nil:
			nf := &n.fields[fs.new]
			prog = compileDecoder(prog, fs.step, nf.n, off+nf.off, path+"."+of.ID)
		case static:
			prog = addSkip(prog, int(w), path)
		default:
			prog = append(prog, op{code: opSkipSchema, sub: &sub{schema: of.Type, path: path + "." + of.ID}})
		}
	}
	if st.old.Aligned {
		prog = st.gap(prog, n, off, end, st.old.Size)
	}
	return prog
}

// gap passes over the padding of an image. Where the image is that of n, the padding is copied along, because one long
// copy is cheaper than two with a gap.
func (st *step) gap(prog []op, n *node, off uintptr, from, to int) []op {
	if st.same && n.fixed {
		return addCopy(prog, off+uintptr(from), uintptr(to-from))
	}
	return addSkip(prog, to-from, "")
}

func addSkip(prog []op, n int, path string) []op {
	if n == 0 {
		return prog
	}
	return append(prog, op{code: opSkip, n: uint32(n), sub: &sub{path: path}})
}

func decoderSub(s *sub, st *step, n *node, path string) {
	s.typ, s.stride = n.typ, n.elem.typ.Size()
	s.prog = frequent(compileDecoder(nil, st.elem, n.elem, 0, path))
	least, _ := st.old.Elem.width()
	s.least = int(least)
	if s.least == 0 && s.stride == 0 {
		s.prog = nil // nothing to read and nowhere to write it: a count beyond all measure costs no time
	}
}

// noescape hides from the compiler that the result depends on p, so that a value on the caller's stack stays there. The
// programs keep pointers to the value in their frames only, where the runtime adjusts them when a stack moves.
func noescape(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}
