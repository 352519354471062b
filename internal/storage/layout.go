package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-stream/weir/internal/ids"
)

// The directories of a job, and the manifest of a savepoint.
const (
	termsDir     = "terms/"
	epochsDir    = "epochs/"
	manifestsDir = "manifests/"
	dataDir      = "data/"
	endedDir     = "ended/"
	claimedDir   = "claimed/"
	completedDir = "completed/"

	savepointManifest = "manifest"
)

// nameBytesMax leaves room for the hash of a longer name in a part of an object's name.
const nameBytesMax = 60

// JobDir returns the name of a job's directory: lower-case letters, digits, '-', '_' and inner dots stand for themselves, a
// capital is '+' and its small letter, every other byte '=' and two hexadecimal digits. A long name is cut, and its hash added.
func JobDir(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0:
			b.WriteByte(c)
		case c >= 'A' && c <= 'Z':
			b.WriteByte('+')
			b.WriteByte(c | 0x20)
		default:
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	dir := b.String()
	if dir == "" {
		return "="
	}
	if len(dir) > nameBytesMax {
		sum := sha256.Sum256([]byte(name))
		dir = dir[:nameBytesMax] + "," + hex.EncodeToString(sum[:8])
	}
	return dir
}

// padded is a number as a name that sorts by it.
func padded(n uint64) string { return fmt.Sprintf("%020d", n) }

// unpad is the inverse of padded.
func unpad(name string) (uint64, bool) {
	n, err := strconv.ParseUint(name, 10, 64)
	return n, err == nil && padded(n) == name
}

// ManifestName returns the name of an epoch's manifest in the store of a job's directory.
func ManifestName(jobDir string, epoch ids.Epoch) string {
	return jobDir + "/" + manifestsDir + padded(uint64(epoch))
}

// placeOf returns what the names in a manifest are relative to: the directory of a savepoint or of the job, with its slash,
// or "" for the root of the store.
func placeOf(manifest string) string {
	dir, _ := path.Split(manifest)
	return strings.TrimSuffix(dir, manifestsDir)
}

// DataName says who wrote a data object, and for which epoch. Term and Generation name a deployment: no other writer, of an
// earlier attempt or a leader that has lost its term, uses the same names.
type DataName struct {
	Term       ids.Term
	Generation ids.Generation
	Vertex     ids.VertexID
	Subtask    int32
	Epoch      ids.Epoch
	N          int // numbers the objects of a task in an epoch
}

// String is the name, relative to the job's or savepoint's directory.
func (n DataName) String() string {
	return fmt.Sprintf("%s%d-%d/%d-%d-%d-%d", dataDir, n.Term, n.Generation, n.Vertex, n.Subtask, n.Epoch, n.N)
}

// ParseDataName is the inverse of String.
func ParseDataName(s string) (DataName, bool) {
	var n DataName
	_, err := fmt.Sscanf(s, dataDir+"%d-%d/%d-%d-%d-%d", &n.Term, &n.Generation, &n.Vertex, &n.Subtask, &n.Epoch, &n.N)
	return n, err == nil && n.String() == s
}

// deadBefore reports whether the object was written before the deployment, by one that does not live on.
func (n DataName) deadBefore(term ids.Term, g ids.Generation, alive []ids.Generation) bool {
	return n.Term < term || n.Term == term && n.Generation < g && !slices.Contains(alive, n.Generation)
}

// WriterName returns the name under which a process writes to a local store (see local.New) during one deployment. nonce
// tells processes of the same deployment apart, and two that an old master still believes in.
func WriterName(term ids.Term, g ids.Generation, nonce string) string {
	return fmt.Sprintf("t%d_g%d_%s", term, g, nonce)
}

// deadWriter reports whether a writer's deployment was before the given one and does not live on, so that its temporary files
// are left over.
func deadWriter(writer string, term ids.Term, g ids.Generation, alive []ids.Generation) bool {
	var n DataName
	if _, err := fmt.Sscanf(writer, "t%d_g%d_", &n.Term, &n.Generation); err != nil {
		return false
	}
	return n.deadBefore(term, g, alive)
}
