package rpc

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"
)

// MasterName is the name in the certificate of a job's master. No worker may have it.
const MasterName = "weir-master"

// secretLife is how long certificates are good for: longer than any job of one process, which is all they serve.
const secretLife = 10 * 365 * 24 * time.Hour

// Authority is the secret of one cluster of processes: a certificate authority made anew for each run, known to nobody
// else and stored nowhere. Everybody who holds an Identity of it is trusted under that identity's name.
type Authority struct {
	random io.Reader
	now    time.Time
	cert   *x509.Certificate
	key    ed25519.PrivateKey
}

// NewAuthority makes an authority. random must be a cryptographic source (crypto/rand.Reader).
func NewAuthority(random io.Reader, now time.Time) (*Authority, error) {
	_, key, err := ed25519.GenerateKey(random)
	if err != nil {
		return nil, err
	}
	a := &Authority{random: random, now: now, key: key}
	a.cert = &x509.Certificate{Subject: pkix.Name{CommonName: "weir cluster"}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign}
	der, err := a.sign(a.cert, a.cert, key.Public())
	if err != nil {
		return nil, err
	}
	a.cert, err = x509.ParseCertificate(der)
	return a, err
}

func (a *Authority) sign(cert, parent *x509.Certificate, public any) ([]byte, error) {
	serial := make([]byte, 16)
	if _, err := io.ReadFull(a.random, serial); err != nil {
		return nil, err
	}
	serial[0] &= 0x7f // positive
	serial[15] |= 1   // not zero
	cert.SerialNumber = new(big.Int).SetBytes(serial)
	cert.NotBefore, cert.NotAfter = a.now.Add(-time.Hour), a.now.Add(secretLife)
	return x509.CreateCertificate(a.random, cert, parent, public, a.key)
}

// Issue makes the identity of a member of the cluster: a worker's id, or MasterName.
func (a *Authority) Issue(name string) (Identity, error) {
	public, key, err := ed25519.GenerateKey(a.random)
	if err != nil {
		return Identity{}, err
	}
	cert := &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	der, err := a.sign(cert, a.cert, public)
	if err != nil {
		return Identity{}, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Identity{}, err
	}
	return Identity{
		CA:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}),
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}, nil
}

// Identity is what a member of a cluster proves itself with, and checks others against: PEM blocks. It is a secret.
type Identity struct {
	CA, Cert, Key []byte
}

// String keeps the key out of logs.
func (Identity) String() string { return "identity (secret)" }

// GoString keeps the key out of logs.
func (i Identity) GoString() string { return i.String() }

// Encode returns the identity for ParseIdentity, on one line.
func (i Identity) Encode() ([]byte, error) {
	type plain Identity
	return json.Marshal(plain(i))
}

// ParseIdentity reads what Encode wrote.
func ParseIdentity(b []byte) (Identity, error) {
	type plain Identity
	var p plain
	if err := json.Unmarshal(b, &p); err != nil {
		return Identity{}, errors.New("not an identity of a cluster") // the cause would show parts of the secret
	}
	return Identity(p), nil
}

// TLS returns a configuration for both ends: each side must prove that it is of the same cluster. A client also sets
// ServerName to the name that it expects of the server. now tells the time certificates are checked against.
func (i Identity) TLS(now func() time.Time) (*tls.Config, error) {
	cert, err := tls.X509KeyPair(i.Cert, i.Key)
	if err != nil {
		return nil, fmt.Errorf("the identity's certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(i.CA) {
		return nil, errors.New("the identity has no certificate of its authority")
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS13, Time: now}, nil
}
