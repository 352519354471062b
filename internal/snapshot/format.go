package snapshot

import (
	"hash/crc32"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
)

// Version is the highest version of data objects that this program writes, manifestVersion that of manifests and of objects of
// rows. It reads all from 1 to them. What
// it writes says the lowest version that can hold it, so that older programs read what they can.
const (
	Version         = 3
	manifestVersion = 2
)

const (
	magicHead   = "WEIRSNAP"
	magicTail   = "SNAPWEIR"
	headBytes   = 16
	tailBytes   = 32
	blockHead   = 12
	blockTarget = 256 << 10
	readTarget  = 4 << 20
	// EntryBytesMax bounds the key, namespace, user key and value of an entry together.
	EntryBytesMax = 64 << 20
	blockRawMax   = blockTarget + EntryBytesMax + 128
	indexBytesMax = 64 << 20
	// ratioMax is above what zstd can reach, so a block that claims more is wrong.
	ratioMax = 1 << 16
)

// The flags of a record.
const (
	flagGroup   = 1 << iota // the group follows
	flagState               // the state follows
	flagHash                // the hash follows, because it is not that of the key's bytes
	flagSame                // group, state, hash, key and namespace are those of the record before
	flagUserKey             // a user key follows
	flagRemoved             // version 2: the unit is gone; no value follows
	flagsKnown  = 1<<iota - 1
	flagsOf1    = flagRemoved - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Entry is one unit of state: a value, an element of a list, an entry of a map, or a timer.
type Entry struct {
	// State is the id of the state in its operator, as the manifest lists it.
	State uint32
	// Hash is the hash of the key; its top bits are the key group.
	Hash uint64
	Key  []byte
	// Namespace is a window's encoding or empty.
	Namespace []byte
	// UserKey is the key of a map's entry, or the time of a timer; else nil. Empty and nil differ.
	UserKey []byte
	Value   []byte
	// Removed, in a delta only, says that what objects before this one hold is gone: of a map with a user key that entry, else
	// everything of the key and namespace. Value is nil.
	Removed bool
}

// Group returns the key group.
func (e *Entry) Group() keygroup.Group { return keygroup.Of(e.Hash) }

func (e *Entry) size() int { return len(e.Key) + len(e.Namespace) + len(e.UserKey) + len(e.Value) }

func corrupt(format string, args ...any) error {
	return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "snapshot", format, args...)
}

// checkVersion refuses a version that this program does not know.
func checkVersion(what string, v, most uint64) error {
	if v < 1 || v > most {
		return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "snapshot",
			"the %s is of version %d; this program reads versions 1 to %d: use the program that wrote it, or a later one", what, v, most)
	}
	return nil
}
