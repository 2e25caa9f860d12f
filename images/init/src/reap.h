/* The duty of a PID 1: reap whatever dies, and at the end leave nothing alive. */
#ifndef BAILIFF_REAP_H
#define BAILIFF_REAP_H

#include <stdbool.h>
#include <sys/types.h>

struct reaper {
    pid_t main_pid; /* the command's own process; 0 while there is none */
    bool main_ended;
    int main_status; /* as from waitpid(2) */
};

/* Reaps every process that is dead now; never blocks. False when there is no child left. */
bool reap_available(struct reaper *reaper);

/*
 * Kills every other process of the PID namespace and returns once none is left, not even a zombie. It has no
 * deadline: an end that cannot be proven must not be reported.
 */
void kill_and_reap_all(struct reaper *reaper);

#endif
