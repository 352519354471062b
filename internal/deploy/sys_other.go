//go:build !unix

package deploy

import "syscall"

// Worker processes inherit a pipe, which os/exec offers on Unix only: elsewhere Start fails with the system's error.
func sysProcAttr(bool) *syscall.SysProcAttr { return nil }

func killGroup(int) {}

func closeOnExec(int) {}
