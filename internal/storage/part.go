package storage

import (
	"encoding/json"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/snapshot"
)

// PartBytesMax bounds an encoded Part, so that it fits a message to the master.
const PartBytesMax = 8 << 20

// Part is what one task adds to the manifest of an epoch. The objects that it lists are durable.
type Part struct {
	Ops []OpPart `json:"ops"`
}

// OpPart is the part of one operator of the task's chain.
type OpPart struct {
	Name      string `json:"name"`
	KeyWidth  int    `json:"keyWidth,omitempty"`
	KeySchema []byte `json:"keySchema,omitempty"`
	// States are the states in Objects. Their ids are those in the objects' records, of this task only.
	States    []snapshot.State    `json:"states,omitempty"`
	Watermark int64               `json:"watermark"`
	Positions []snapshot.Position `json:"positions,omitempty"`
	Blobs     []snapshot.Blob     `json:"blobs,omitempty"`
	// Objects are in the order of their application; those of earlier epochs are listed again because nothing in them changed.
	Objects []snapshot.Object `json:"objects,omitempty"`
}

// Stored is what a worker reports of a task's part when it is durable.
type Stored struct {
	// Part is an encoded Part, opaque to the control plane.
	Part []byte
	// Size is the bytes of all objects, Written those that were new, InFlight those of rows in flight.
	Size, Written, InFlight int64
	// Took is how long the upload took.
	Took time.Duration
}

// Encode returns the part's bytes.
func (p *Part) Encode() ([]byte, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, errs.Wrap(err, errs.CodeBug, errs.ClassBug, "checkpoint", "encoding a task's part of the manifest")
	}
	if len(b) > PartBytesMax {
		return nil, errs.New(errs.CodeLimit, errs.ClassFailTask, "checkpoint",
			"a task's part of the manifest has %d bytes, at most %d are allowed: fewer splits a subtask, or smaller states of operators", len(b), PartBytesMax)
	}
	return b, nil
}

// DecodePart is the inverse of Encode.
func DecodePart(b []byte) (*Part, error) {
	p := &Part{}
	if err := json.Unmarshal(b, p); err != nil {
		return nil, errs.Wrap(err, errs.CodeBug, errs.ClassBug, "checkpoint", "a task's part of the manifest is malformed")
	}
	return p, nil
}
