//go:build unix && !linux

package deploy

import "syscall"

// sysProcAttr puts a child into a process group of its own. There is no death signal here; the pipe has to do.
func sysProcAttr(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
