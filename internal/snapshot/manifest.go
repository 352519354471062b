package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/keygroup"
)

// ManifestBytesMax bounds an encoded manifest. Larger blobs of operators belong into objects of their own.
const ManifestBytesMax = 256 << 20

// Purpose says why a snapshot was taken.
type Purpose string

// The purposes.
const (
	PurposeCheckpoint Purpose = "checkpoint"
	PurposeSavepoint  Purpose = "savepoint"
)

// Kind says what a state keeps. The words are part of the format.
type Kind string

// The kinds of state.
const (
	KindValue           Kind = "value"
	KindList            Kind = "list"
	KindMap             Kind = "map"
	KindEventTimers     Kind = "event-timers"
	KindProcessingTimer Kind = "processing-timers"
)

// Manifest is the whole description of one checkpoint or savepoint: with it and the objects it lists, a job goes on. All
// names of objects are relative to the place that the manifest is for, so the whole can be moved.
//
// The fields are those of the encoded form, in its order. A field is never renamed, and a new one raises manifestVersion; those
// that version 2 added say so.
type Manifest struct {
	Job     ids.JobID `json:"job"`
	Epoch   ids.Epoch `json:"epoch"`
	Term    ids.Term  `json:"term"` // of the leader that wrote it
	Purpose Purpose   `json:"purpose"`
	// Plan is the fingerprint of the plan that ran.
	Plan      string     `json:"plan"`
	KeyGroups int        `json:"keyGroups"` // keygroup.Count
	Operators []Operator `json:"operators"`
	Objects   []Object   `json:"objects"`

	// JobName is what the user calls the job. Version 2.
	JobName string `json:"jobName,omitempty"`
	// Created is when it was written, in milliseconds since 1970. Version 2.
	Created int64 `json:"created,omitempty"`
	// Place, if set, is the directory that the objects lie in, instead of the one that the manifest is for: the copy that a stop
	// leaves with the job, of a savepoint elsewhere. Version 2.
	Place string `json:"place,omitempty"`
}

// Operator is what one operator, found by its name, left.
type Operator struct {
	Name        string `json:"name"`
	Parallelism int    `json:"parallelism"`
	// KeySchema is the codec's schema of its keys; empty without keyed state.
	KeySchema []byte `json:"keySchema,omitempty"`
	// KeyWidth is the size of every encoded key, or 0 if they vary.
	KeyWidth int     `json:"keyWidth,omitempty"`
	States   []State `json:"states,omitempty"`
	// Watermarks has the event time that each subtask had reached, in milliseconds.
	Watermarks []int64 `json:"watermarks,omitempty"`
	// Finished lists the subtasks that had ended, ascending. They have nothing to restore.
	Finished []int `json:"finished,omitempty"`
	// Positions are those of a source's splits.
	Positions []Position `json:"positions,omitempty"`
	// Blobs are the operator's own bytes: an enumerator's or committer's state, list and broadcast state.
	Blobs []Blob `json:"blobs,omitempty"`
}

// State describes one keyed state.
type State struct {
	ID             uint32 `json:"id"` // in the entries of the operator's objects
	Name           string `json:"name"`
	Kind           Kind   `json:"kind"`
	Width          int    `json:"width,omitempty"`
	NamespaceWidth int    `json:"namespaceWidth,omitempty"` // -1 if they vary
	Schema         []byte `json:"schema,omitempty"`
}

// Position is where a source's split goes on.
type Position struct {
	Split   string `json:"split"`
	Subtask int    `json:"subtask"` // that read it
	Done    bool   `json:"done,omitempty"`
	Data    []byte `json:"data,omitempty"`
}

// Blob is bytes that only the operator understands. Several of one name and subtask are a list, in their order (version 2).
type Blob struct {
	Name    string `json:"name"`
	Subtask int    `json:"subtask"` // or -1 for the operator as a whole
	Data    []byte `json:"data,omitempty"`
	// Object, if set, is the object of ObjectBlobs that holds Length bytes from Offset on, in place of Data. Version 2.
	Object string `json:"object,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	Length int64  `json:"length,omitempty"`
}

type blobKey struct {
	name    string
	subtask int
}

// ObjectKind says what is in an object.
type ObjectKind string

// The kinds of objects.
const (
	// ObjectEntries are entries of keyed state, in the form of a Writer.
	ObjectEntries ObjectKind = ""
	// ObjectDelta are entries to be applied over those of the operator's objects before it. Version 2.
	ObjectDelta ObjectKind = "delta"
	// ObjectRows are rows that a barrier has overtaken on their way to one subtask, in the form of a RowsWriter. Version 2.
	ObjectRows ObjectKind = "rows"
	// ObjectBlobs are the bytes of large blobs, one after the other. Version 2.
	ObjectBlobs ObjectKind = "blobs"
)

// Object is an object with state of one operator. Objects of one operator are applied in the order of the manifest.
type Object struct {
	Name     string         `json:"name"`
	Operator string         `json:"operator"`
	Size     int64          `json:"size"`
	CRC      uint32         `json:"crc"`
	From     keygroup.Group `json:"from"` // key groups [From, To)
	To       keygroup.Group `json:"to"`
	Entries  int64          `json:"entries"`
	RawBytes int64          `json:"rawBytes"`
	// Kind says what is in it. Version 2.
	Kind ObjectKind `json:"kind,omitempty"`
	// Subtask is the one that wrote it; rows were on their way to it. Version 2, 0 before.
	Subtask int `json:"subtask,omitempty"`
	// States are the ids that the states have in the manifest, in the order of those that they have in the object, which count
	// from 1. Without it they are the same. Version 2.
	States []uint32 `json:"states,omitempty"`
}

// StateID returns the manifest's id of the state that entries of the object call id.
func (o *Object) StateID(id uint32) (uint32, bool) {
	if o.States == nil {
		return id, true
	}
	if id == 0 || id > uint32(len(o.States)) {
		return 0, false
	}
	return o.States[id-1], true
}

// version is the lowest that can hold the manifest.
func (m *Manifest) version() int {
	if m.JobName != "" || m.Created != 0 || m.Place != "" {
		return 2
	}
	for i := range m.Operators {
		o := &m.Operators[i]
		names := map[blobKey]bool{}
		for j := range o.Blobs {
			b := &o.Blobs[j]
			key := blobKey{b.Name, b.Subtask}
			if b.Object != "" || b.Offset != 0 || b.Length != 0 || names[key] {
				return 2
			}
			names[key] = true
		}
	}
	for i := range m.Objects {
		if o := &m.Objects[i]; o.Kind != ObjectEntries || o.Subtask != 0 || o.States != nil {
			return 2
		}
	}
	return 1
}

// Groups returns the key groups that the object may have entries of.
func (o *Object) Groups() keygroup.Range { return keygroup.Range{From: o.From, To: o.To} }

const manifestMagic = "WEIRMANIFEST"

// Encode returns the manifest's bytes: a line with magic, version, length and CRC-32C of the rest, and JSON. It refuses
// a manifest that Decode would.
func (m *Manifest) Encode() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	body, err := m.body()
	if err != nil {
		return nil, err
	}
	if len(body) > ManifestBytesMax {
		return nil, errs.New(errs.CodeLimit, errs.ClassFailJob, "manifest", "has %d bytes, at most %d are allowed", len(body), ManifestBytesMax)
	}
	head := fmt.Sprintf("%s %d %d %08x\n", manifestMagic, m.version(), len(body), crc32.Checksum(body, castagnoli))
	return append([]byte(head), body...), nil
}

func (m *Manifest) body() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(m); err != nil {
		return nil, errs.Wrap(err, errs.CodeBug, errs.ClassBug, "manifest", "encoding it")
	}
	return b.Bytes(), nil
}

// CodeVersion is the code of a failure: a manifest is of a later version than this program knows. Nothing need be wrong with it.
const CodeVersion errs.Code = "snapshot.version"

// DecodeManifest reads what Encode wrote. It accepts no other form of the same content: what is decoded and encoded
// again has the same bytes.
func DecodeManifest(b []byte) (*Manifest, error) {
	line, body, ok := bytes.Cut(b[:min(len(b), ManifestBytesMax+100)], []byte("\n"))
	fields := strings.Split(string(line[:min(len(line), 100)]), " ")
	if !ok || len(fields) != 4 || fields[0] != manifestMagic {
		return nil, corrupt("not a manifest: it starts with %.20q", b)
	}
	version, err := strconv.ParseUint(fields[1], 10, 32)
	if err != nil {
		return nil, corrupt("a manifest of version %.20q", fields[1])
	}
	if err := checkVersion("manifest", version, manifestVersion); err != nil {
		if version > manifestVersion {
			err = errs.Wrap(err, CodeVersion, errs.ClassFailJob, "", "")
		}
		return nil, err
	}
	if len(body) > ManifestBytesMax {
		return nil, corrupt("the manifest has more than %d bytes", ManifestBytesMax)
	}
	if fields[2] != strconv.Itoa(len(body)) {
		return nil, corrupt("the manifest should have %.20s bytes and has %d: it was cut short or changed", fields[2], len(body))
	}
	if sum := fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)); fields[3] != sum {
		return nil, corrupt("the manifest fails its checksum: %.20s is written, %s is right", fields[3], sum)
	}
	m := &Manifest{}
	if err := json.Unmarshal(body, m); err != nil {
		return nil, corrupt("the manifest is malformed: %v", err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	if v := m.version(); version != uint64(v) {
		return nil, corrupt("the manifest says version %d and is of version %d", version, v)
	}
	if again, err := m.body(); err != nil || !bytes.Equal(again, body) {
		return nil, corrupt("the manifest holds what this program does not know, or not in the form of version %d", version)
	}
	return m, nil
}
