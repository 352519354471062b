// Package local keeps objects as files below a directory.
//
// A part of a name between slashes is a directory or file of that name, with every byte percent-escaped that is not a
// letter, a digit or one of "-_.=+@,"; a leading dot is escaped too, so files that start with a dot are never objects. Such
// are the temporary files, ".tmp-WRITER-NUMBER", which stand beside the object they become.
//
// A write is: make the directory, write and sync the temporary file, give it the name (rename for Put; link for
// PutIfAbsent, because a link never replaces), sync the directory and those above it up to the root. A crash at any point
// leaves the object whole or absent, and perhaps a temporary file, which Sweep removes once its writer is dead. A file
// system without hard links (FAT, some network mounts) serves for everything but PutIfAbsent, which then says so.
//
// Delete removes directories that become empty, and Put makes them again when it loses that race.
package local
