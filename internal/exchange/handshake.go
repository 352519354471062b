package exchange

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/weir-stream/weir/internal/bin"
	"github.com/weir-stream/weir/internal/errs"
)

const (
	helloMagic   = "WEIREXCH"
	helloVersion = 2
	helloMax     = 4096
	nonceLen     = 32
	helloFixed   = len(helloMagic) + 4
)

// Peer is what the two ends of a link tell each other.
type Peer struct {
	// Job and Generation must be the same at both ends: a process of an earlier deployment must not reach this one.
	Job        string
	Generation uint64
	// Name is the process, for messages.
	Name string
}

// Hello is what the dialer of a connection has said first. Nothing of it is proved yet.
type Hello struct {
	// Peer is who it says that it is.
	Peer Peer
	raw  []byte
}

// ReadHello reads the hello of a peer that has dialed, to find out whom the connection is for; LinkConfig.Heard hands it to
// the link. It blocks until the hello has come, or the connection is closed.
func ReadHello(conn io.Reader) (*Hello, error) {
	peer, raw, err := readHello(conn)
	if err != nil {
		return nil, err
	}
	return &Hello{peer, raw}, nil
}

// shake exchanges hellos and proofs: the dialer's hello, the acceptor's, the dialer's proof, the acceptor's. A proof is
// an HMAC with the secret over both hellos, which hold fresh nonces, so that neither the secret nor anything that can be
// used again crosses the wire. It returns the peer.
func shake(conn io.ReadWriteCloser, cfg *LinkConfig) (Peer, error) {
	timer := cfg.AfterFunc(cfg.HandshakeTimeout, func() { conn.Close() })
	defer timer.Stop()
	mine, err := appendHello(nil, cfg.Self, cfg.Rand)
	if err != nil {
		return Peer{}, err
	}
	var theirs []byte
	var peer Peer
	if cfg.Dialed {
		if _, err = conn.Write(mine); err == nil {
			peer, theirs, err = readHello(conn)
		}
	} else {
		if cfg.Heard != nil {
			peer, theirs = cfg.Heard.Peer, cfg.Heard.raw
		} else {
			peer, theirs, err = readHello(conn)
		}
		if err == nil {
			_, err = conn.Write(mine)
		}
	}
	if err != nil {
		return peer, err
	}
	if peer.Job != cfg.Self.Job || peer.Generation != cfg.Self.Generation {
		return peer, errs.New(errs.CodeWire, errs.ClassFailTask, "handshake with "+peer.Name,
			"it belongs to job %q generation %d, this process to job %q generation %d; one of the two is left over from an earlier deployment",
			peer.Job, peer.Generation, cfg.Self.Job, cfg.Self.Generation)
	}
	if err = prove(conn, cfg, mine, theirs); err != nil {
		return peer, errs.Wrap(err, "", 0, "handshake with "+peer.Name, "")
	}
	if cfg.Verify != nil {
		err = cfg.Verify(peer)
	}
	return peer, err
}

func prove(conn io.ReadWriter, cfg *LinkConfig, mine, theirs []byte) error {
	dialer, acceptor := mine, theirs
	if !cfg.Dialed {
		dialer, acceptor = theirs, mine
	}
	myProof, wanted := proof(cfg.Secret, 'd', dialer, acceptor), proof(cfg.Secret, 'a', dialer, acceptor)
	if !cfg.Dialed {
		myProof, wanted = wanted, myProof
	}
	check := func() error {
		var got [sha256.Size]byte
		if _, err := io.ReadFull(conn, got[:]); err != nil {
			return errs.Wrap(err, errs.CodePeerLost, errs.ClassFailTask, "", "it closed the connection; its secret may differ, see its log")
		}
		if !hmac.Equal(got[:], wanted) {
			return errs.New(errs.CodeWire, errs.ClassFailJob, "", "its proof is wrong: the processes were started with different secrets")
		}
		return nil
	}
	if !cfg.Dialed {
		if err := check(); err != nil {
			return err
		}
	}
	if _, err := conn.Write(myProof); err != nil {
		return errs.Wrap(err, errs.CodePeerLost, errs.ClassFailTask, "", "sending the proof")
	}
	if cfg.Dialed {
		return check()
	}
	return nil
}

func proof(secret []byte, role byte, dialer, acceptor []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte{role})
	m.Write(dialer)
	m.Write(acceptor)
	return m.Sum(nil)
}

func appendHello(dst []byte, p Peer, random io.Reader) ([]byte, error) {
	dst = append(dst, helloMagic...)
	dst = append(dst, 0, 0, 0, 0)
	dst = bin.AppendString(dst, p.Job)
	dst = bin.AppendUvarint(dst, p.Generation)
	dst = bin.AppendString(dst, p.Name)
	var nonce [nonceLen]byte
	if _, err := io.ReadFull(random, nonce[:]); err != nil {
		return nil, errs.Wrap(err, errs.CodeIO, errs.ClassRetry, "handshake", "reading random bytes")
	}
	dst = append(dst, nonce[:]...)
	if len(dst) > helloMax {
		return nil, errs.New(errs.CodeLimit, errs.ClassFailJob, "handshake", "the names of job %q and process %q are too long", p.Job, p.Name)
	}
	binary.LittleEndian.PutUint16(dst[len(helloMagic):], helloVersion)
	binary.LittleEndian.PutUint16(dst[len(helloMagic)+2:], uint16(len(dst)-helloFixed))
	return dst, nil
}

// readHello reads the peer's hello and returns it parsed and as it came.
func readHello(r io.Reader) (Peer, []byte, error) {
	b := make([]byte, helloFixed, helloMax)
	if n, err := io.ReadFull(r, b); err != nil {
		return Peer{}, nil, errs.Wrap(err, errs.CodePeerLost, errs.ClassFailTask, "handshake", "the peer sent %q and no more", b[:n])
	}
	if string(b[:len(helloMagic)]) != helloMagic {
		return Peer{}, nil, errs.New(errs.CodeWire, errs.ClassFailTask, "handshake", "the peer is no exchange of Weir: it began with %q", b)
	}
	if v := binary.LittleEndian.Uint16(b[len(helloMagic):]); v != helloVersion {
		return Peer{}, nil, errs.New(errs.CodeWire, errs.ClassFailJob, "handshake", "the peer speaks version %d, this process version %d; run the same binary everywhere", v, helloVersion)
	}
	n := int(binary.LittleEndian.Uint16(b[len(helloMagic)+2:]))
	if helloFixed+n > helloMax {
		return Peer{}, nil, errs.New(errs.CodeWire, errs.ClassFailTask, "handshake", "a hello of %d bytes", n)
	}
	b = b[:helloFixed+n]
	if _, err := io.ReadFull(r, b[helloFixed:]); err != nil {
		return Peer{}, nil, errs.Wrap(err, errs.CodePeerLost, errs.ClassFailTask, "handshake", "the peer's hello ends too early")
	}
	p, err := parseHello(b[helloFixed:])
	if err != nil {
		return Peer{}, nil, errs.Wrap(err, errs.CodeWire, errs.ClassFailTask, "handshake", "the peer's hello")
	}
	return p, b, nil
}

func parseHello(b []byte) (p Peer, err error) {
	var job, name string
	if job, b, err = bin.Text(b); err != nil {
		return p, fmt.Errorf("job: %w", err)
	}
	if p.Generation, b, err = bin.Uvarint(b); err != nil {
		return p, fmt.Errorf("generation: %w", err)
	}
	if name, b, err = bin.Text(b); err != nil {
		return p, fmt.Errorf("name: %w", err)
	}
	if len(b) != nonceLen {
		return p, fmt.Errorf("a nonce of %d bytes", len(b))
	}
	p.Job, p.Name = string([]byte(job)), string([]byte(name))
	return p, nil
}

const (
	defaultHandshakeTimeout = 10 * time.Second
	defaultAliveEvery       = 2 * time.Second
	defaultPeerTimeout      = 10 * time.Second
	defaultCloseTimeout     = 5 * time.Second
)
