package ids_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/weir-stream/weir/internal/ids"
)

func TestTextForms(t *testing.T) {
	job := ids.JobIDFrom("flights", "1")
	if job == ids.JobIDFrom("flights1", "") || job == ids.JobIDFrom("flights", "2") || job.IsZero() {
		t.Error("different parts, one id")
	}
	back, err := ids.ParseJobID(job.String())
	if err != nil || back != job || len(job.String()) != 32 {
		t.Errorf("%s: %s, %v", job, back, err)
	}
	var v ids.JobID
	b, _ := json.Marshal(job)
	if err := json.Unmarshal(b, &v); err != nil || v != job {
		t.Errorf("%s: %s, %v", b, v, err)
	}
	for _, s := range []string{"", "ab", "zz000000000000000000000000000000", job.String() + "0"} {
		if _, err := ids.ParseJobID(s); err == nil {
			t.Errorf("%q is a job id", s)
		}
		if _, err := ids.ParseOperatorID(s); err == nil {
			t.Errorf("%q is an operator id", s)
		}
	}
	task := ids.TaskID{Vertex: 3, Subtask: 1}
	if task.String() != "v3/1#0" || task.Next().String() != "v3/1#1" || ids.VertexID(3).String() != "v3" {
		t.Error(task, task.Next())
	}
}

// The derivation is part of the snapshot format: the first 16 bytes of SHA-256 over "operator", a zero byte, the name.
func TestOperatorIDIsStable(t *testing.T) {
	sum := sha256.Sum256([]byte("operator\x00hourly"))
	if got, want := ids.OperatorIDOf("hourly").String(), hex.EncodeToString(sum[:16]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
