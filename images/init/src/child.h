/* From fork to execve: the new process gives up everything before the command's first instruction. */
#ifndef BAILIFF_CHILD_H
#define BAILIFF_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "report.h"
#include "request.h"

struct child {
    pid_t pid;
    int stdout_fd; /* read ends, non-blocking */
    int stderr_fd;
    int start_fd; /* end of file without bytes: execve succeeded; else one struct start_failure */
};

struct start_failure {
    int32_t stage; /* enum report_stage */
    int32_t error_number;
};

/* Forks. False with *failure set when no process was made; every descriptor it opened is closed then. */
bool child_spawn(const struct request *request, struct child *child, struct start_failure *failure);

enum start_state {
    START_PENDING,
    START_DONE,
    START_FAILED,
};

/* Reads the child's start pipe without blocking; closes it unless START_PENDING. */
enum start_state child_start_state(struct child *child, struct start_failure *failure);

#endif
