//go:build unix

package deploy

import "syscall"

// killGroup kills what is left of the process group of a child that has ended. The group's number is not used again as
// long as one of it lives.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

func closeOnExec(fd int) { syscall.CloseOnExec(fd) }
