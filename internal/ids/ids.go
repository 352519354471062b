package ids

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// JobID identifies one submission of a job. It prints as 32 hexadecimal digits, as Flink's job ids do, so that tools
// that parse them keep working.
type JobID [16]byte

// JobIDFrom derives a job id from parts that are unique together (a name, a start instant, a random number drawn by the
// caller). The package itself has no source of randomness.
func JobIDFrom(parts ...string) JobID { return JobID(digest("job", parts)) }

// ParseJobID reads the 32 hexadecimal digits that String prints.
func ParseJobID(s string) (JobID, error) {
	b, err := parseHex16("job id", s)
	return JobID(b), err
}

// String prints 32 hexadecimal digits.
func (id JobID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether the id was never set.
func (id JobID) IsZero() bool { return id == JobID{} }

// MarshalText makes the id readable in JSON and logs.
func (id JobID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (id *JobID) UnmarshalText(b []byte) error {
	got, err := ParseJobID(string(b))
	if err == nil {
		*id = got
	}
	return err
}

// OperatorID identifies an operator over every version of a program: it is derived from the operator's name (or uid)
// alone, never from its place in the graph, so that state is found again after the graph has changed.
type OperatorID [16]byte

// OperatorIDOf derives the id from the operator's uid, or from its name when it has no uid. The derivation is part of
// the snapshot format and must not change: the first 16 bytes of SHA-256 over "operator\x00" + name.
func OperatorIDOf(name string) OperatorID { return OperatorID(digest("operator", []string{name})) }

// ParseOperatorID reads the 32 hexadecimal digits that String prints.
func ParseOperatorID(s string) (OperatorID, error) {
	b, err := parseHex16("operator id", s)
	return OperatorID(b), err
}

// String prints 32 hexadecimal digits.
func (id OperatorID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether the id was never set.
func (id OperatorID) IsZero() bool { return id == OperatorID{} }

// VertexID is the index of a vertex (a chain of operators) in its job graph, in topological order from 0. It is stable
// for one plan only: never store it in a snapshot.
type VertexID int32

// String prints "v3".
func (id VertexID) String() string { return "v" + strconv.Itoa(int(id)) }

// TaskID identifies one attempt of one parallel instance of a vertex.
type TaskID struct {
	Vertex  VertexID
	Subtask int32 // 0 <= Subtask < parallelism of the vertex
	Attempt int32 // 0 for the first deployment, one more for each restart
}

// String prints "v3/1#0": vertex 3, subtask 1, first attempt.
func (id TaskID) String() string {
	return fmt.Sprintf("v%d/%d#%d", id.Vertex, id.Subtask, id.Attempt)
}

// Next is the id of the same subtask's next attempt.
func (id TaskID) Next() TaskID {
	id.Attempt++
	return id
}

// WorkerID names a worker process of a cluster (Flink's TaskManager id).
type WorkerID string

// Epoch numbers the barriers of a job. It grows by one with each barrier; 0 is "before the first".
type Epoch uint64

// Term numbers the leaders of a job. What a leader of a lower term writes is refused.
type Term uint64

// Generation numbers the deployments of a job: one more after each restart, rescale or recovery. Messages of an older
// generation are dropped.
type Generation uint64

func digest(kind string, parts []string) (out [16]byte) {
	h := sha256.New()
	h.Write([]byte(kind))
	for _, p := range parts {
		h.Write([]byte{0})
		h.Write([]byte(p))
	}
	copy(out[:], h.Sum(nil))
	return out
}

func parseHex16(what, s string) (out [16]byte, err error) {
	if len(s) != 32 {
		return out, fmt.Errorf("%s %q: want 32 hexadecimal digits, got %d characters", what, s, len(s))
	}
	if _, err := hex.Decode(out[:], []byte(s)); err != nil {
		return [16]byte{}, fmt.Errorf("%s %q: want 32 hexadecimal digits: %w", what, s, err)
	}
	return out, nil
}
