package file

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/weir-stream/weir/connector"
)

// frameBytes is how much of a compressed part is collected before it is compressed, as a gzip member or zstd frame of its
// own. So parts need no compressor each, and a checkpoint may cut between any two frames.
const frameBytes = 512 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// part is a file that rows are being added to.
type part struct {
	partState
	file   connector.WriteFile // nil once it is closed
	buf    []byte              // encoded and not in the file
	synced bool                // what is in the file is durable
	listed bool                // a checkpoint may list it
	next   int64               // rows in buf
}

// packer compresses frames for all parts of a writer.
type packer struct {
	kind compression
	out  bytes.Buffer
	gzip *gzip.Writer
	zstd *zstd.Encoder
	zbuf []byte
}

func newPacker(name string) (*packer, error) {
	p := &packer{kind: compressionOf(name)}
	switch p.kind {
	case gzipped:
		p.gzip = gzip.NewWriter(&p.out)
	case zstandard:
		var err error
		if p.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// frame returns what is to be written for b; it is valid until the next call.
func (p *packer) frame(b []byte) ([]byte, error) {
	switch p.kind {
	case gzipped:
		p.out.Reset()
		p.gzip.Reset(&p.out)
		if _, err := p.gzip.Write(b); err != nil {
			return nil, err
		}
		err := p.gzip.Close()
		return p.out.Bytes(), err
	case zstandard:
		p.zbuf = p.zstd.EncodeAll(b, p.zbuf[:0])
		return p.zbuf, nil
	}
	return b, nil
}

// full returns how much a part collects before it writes.
func (p *packer) full() int {
	if p.kind == plain {
		return bufferBytes
	}
	return frameBytes
}

func (p *packer) close() {
	if p.zstd != nil {
		p.zstd.Close()
	}
}

// spill writes what is collected.
func (p *part) spill(pack *packer) error {
	if len(p.buf) == 0 {
		return nil
	}
	b, err := pack.frame(p.buf)
	if err == nil {
		p.synced = false
		_, err = p.file.Write(b)
	}
	if err != nil {
		return fmt.Errorf("file: write %s: %w", p.Stem+inProgress, err)
	}
	p.Size += int64(len(b))
	p.CRC = crc32.Update(p.CRC, castagnoli, b)
	p.Rows += p.next
	p.buf, p.next = p.buf[:0], 0
	return nil
}

// sync makes everything that was added durable.
func (p *part) sync(pack *packer) error {
	if err := p.spill(pack); err != nil {
		return err
	}
	if p.synced {
		return nil
	}
	if err := p.file.Sync(); err != nil {
		return fmt.Errorf("file: sync %s: %w", p.Stem+inProgress, err)
	}
	p.synced = true
	return nil
}

// end makes the part durable and closes it.
func (p *part) end(pack *packer) error {
	if p.file == nil {
		return nil
	}
	if err := p.sync(pack); err != nil {
		return err
	}
	f := p.file
	p.file, p.buf = nil, nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("file: close %s: %w", p.Stem+inProgress, err)
	}
	return nil
}

// drop closes the part, and removes it if no checkpoint can list it.
func (p *part) drop(fsys connector.FileSystem) error {
	var errs []error
	if p.file != nil {
		errs = append(errs, p.file.Close())
		p.file = nil
	}
	if !p.listed {
		errs = append(errs, fsys.Remove(p.Stem+inProgress))
	}
	return errors.Join(errs...)
}

// sum reads the first size bytes of a file and returns their checksum; short is true if there are fewer. w may be nil.
func sum(fsys connector.FileSystem, name string, size int64, w io.Writer) (crc uint32, short bool, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	buf := make([]byte, max(min(size, 256<<10), 1))
	for left := size; left > 0; {
		n, err := f.Read(buf[:min(left, int64(len(buf)))])
		crc = crc32.Update(crc, castagnoli, buf[:n])
		left -= int64(n)
		if w != nil && n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return 0, false, err
			}
		}
		if err == io.EOF && left > 0 {
			return crc, true, nil
		}
		if err != nil && err != io.EOF {
			return 0, false, err
		}
	}
	return crc, false, nil
}
