package deploy

import "syscall"

// sysProcAttr puts a child into a process group of its own and lets the kernel kill it with the thread that starts it.
func sysProcAttr(deathSignal bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if deathSignal {
		a.Pdeathsig = syscall.SIGKILL
	}
	return a
}
