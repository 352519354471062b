// Package inspect describes checkpoints, savepoints and the directories of jobs for people and scripts: what `weir inspect`
// prints. It reads and changes nothing.
package inspect
