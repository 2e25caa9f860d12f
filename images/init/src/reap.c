#include "reap.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long to wait for the next death before killing again: a process in the middle of fork(2) may need a second kill. */
#define KILL_AGAIN_NS 5000000L

bool reap_available(struct reaper *reaper)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);

        if (pid > 0) {
            if (pid == reaper->main_pid) {
                reaper->main_ended = true;
                reaper->main_status = status;
            }
        } else if (pid == 0) {
            return true;
        } else if (errno != EINTR) {
            return false;
        }
    }
}

static void wait_for_a_death(void)
{
    const struct timespec patience = {.tv_sec = 0, .tv_nsec = KILL_AGAIN_NS};
    sigset_t death;

    sigemptyset(&death);
    sigaddset(&death, SIGCHLD);
    /* SIGCHLD is blocked in this process, so a death between waitpid and here is not missed. */
    (void)sigtimedwait(&death, NULL, &patience);
}

void kill_and_reap_all(struct reaper *reaper)
{
    /* Anywhere but at the top of a PID namespace this would kill the machine. */
    if (getpid() != 1)
        abort();
    for (;;) {
        (void)kill(-1, SIGKILL);
        /* No child of ours left, and nobody else either, such as a process that was put into the namespace from outside. */
        if (!reap_available(reaper) && kill(-1, SIGKILL) != 0 && errno == ESRCH)
            return;
        wait_for_a_death();
    }
}
