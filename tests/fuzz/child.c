/*
 * See child.h.
 */
#include "child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

int
fuzz_open_process(void)
{
	static pid_t child;

	if (child > 0 && waitpid(child, NULL, WNOHANG) == 0)
		return (int)syscall(SYS_pidfd_open, child, 0);
	child = fork();
	FUZZ_CHECK(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Not libFuzzer's handlers. */
		for (int i = 1; i < NSIG; i++)
			(void)signal(i, SIG_DFL);
		for (;;)
			(void)pause();
	}
	return (int)syscall(SYS_pidfd_open, child, 0);
}
