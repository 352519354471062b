package exchange

import (
	"net"
	"net/netip"

	"github.com/klauspost/compress/s2"
)

// Compression says which batches of a link are compressed.
type Compression uint8

const (
	// CompressAuto compresses channels whose batches shrink by a quarter or more, except on loopback, where bytes are
	// cheaper than the time to compress them.
	CompressAuto Compression = iota
	// CompressNever compresses nothing.
	CompressNever
	// CompressAlways compresses what shrinks at all, also on loopback.
	CompressAlways
)

const (
	pressMin   = 512 // smaller payloads are left alone
	pressEvery = 128 // batches between two trials of a channel that does not shrink
)

// press compresses the batches of one channel as long as that pays.
type press struct {
	mode Compression
	buf  []byte
	skip int // batches until the next trial
}

// squeeze returns src compressed and its length, valid until the next call, or 0 if src is to be sent as it is.
func (p *press) squeeze(src []byte) ([]byte, int) {
	if p.mode == CompressNever || len(src) < pressMin {
		return nil, 0
	}
	if p.skip > 0 {
		p.skip--
		return nil, 0
	}
	if n := s2.MaxEncodedLen(len(src)); cap(p.buf) < n {
		p.buf = make([]byte, n)
	}
	out := s2.Encode(p.buf[:cap(p.buf)], src)
	if p.mode == CompressAuto && len(out) > len(src)/4*3 {
		p.skip = pressEvery
	}
	if len(out) >= len(src) {
		return nil, 0
	}
	return out, len(src)
}

// loopback reports whether the peer is on this machine, as far as the address tells.
func loopback(conn net.Conn) bool {
	addr, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	return err == nil && addr.Addr().Unmap().IsLoopback()
}
