#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attributes.h"
#include "privileges.h"
#include "program.h"

/* The start pipe's place in the child; everything above it is closed. */
#define START_FD 3

struct ends {
    int null_fd;
    int stdout_pipe[2];
    int stderr_pipe[2];
    int start_pipe[2];
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_ends(struct ends *ends)
{
    close_end(&ends->null_fd);
    for (int i = 0; i < 2; i++) {
        close_end(&ends->stdout_pipe[i]);
        close_end(&ends->stderr_pipe[i]);
        close_end(&ends->start_pipe[i]);
    }
}

static bool set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/*
 * The output pipes are made as the command's user: opening /dev/stdout opens the pipe's inode again, which only its
 * owner may.
 */
static bool open_output_pipes(const struct request *request, struct ends *ends)
{
    bool opened;
    int error_number;

    if (setresgid((gid_t)-1, request->gid, (gid_t)-1) != 0)
        return false;
    opened = setresuid((uid_t)-1, request->uid, (uid_t)-1) == 0 && pipe2(ends->stdout_pipe, O_CLOEXEC) == 0 &&
             pipe2(ends->stderr_pipe, O_CLOEXEC) == 0;
    error_number = errno;
    if (setresuid((uid_t)-1, 0, (uid_t)-1) != 0 || setresgid((gid_t)-1, 0, (gid_t)-1) != 0)
        return false;
    /* A change of identity may have made this process dumpable by others again. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return false;
    errno = error_number;
    return opened;
}

static bool open_ends(const struct request *request, struct ends *ends)
{
    ends->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return ends->null_fd >= 0 && pipe2(ends->start_pipe, O_CLOEXEC) == 0 && open_output_pipes(request, ends) &&
           set_nonblocking(ends->start_pipe[0]) && set_nonblocking(ends->stdout_pipe[0]) &&
           set_nonblocking(ends->stderr_pipe[0]);
}

static void close_from(int first)
{
    long limit;

#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0)
        return;
#endif
    limit = sysconf(_SC_OPEN_MAX);
    if (limit < 0 || limit > 1048576)
        limit = 1048576;
    for (int fd = first; fd < (int)limit; fd++)
        close(fd);
}

static void reset_signal_dispositions(void)
{
    struct sigaction by_default;

    memset(&by_default, 0, sizeof by_default);
    by_default.sa_handler = SIG_DFL;
    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        (void)sigaction(signal_number, &by_default, NULL);
}

static bool allow_all_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

/* 0, 1, 2 and START_FD in place, everything else closed; the sources are moved out of the way first. */
static bool arrange_descriptors(const struct ends *ends)
{
    const int sources[4] = {ends->null_fd, ends->stdout_pipe[1], ends->stderr_pipe[1], ends->start_pipe[1]};
    int moved[4];

    for (int i = 0; i < 4; i++) {
        moved[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, START_FD + 1);
        if (moved[i] < 0)
            return false;
    }
    for (int i = 0; i < START_FD; i++) {
        if (dup2(moved[i], i) < 0)
            return false;
    }
    if (dup3(moved[START_FD], START_FD, O_CLOEXEC) < 0)
        return false;
    close_from(START_FD + 1);
    return true;
}

/* When memory runs out the command must go before PID 1, or nobody is left to say what happened. Best effort. */
static void prefer_as_oom_victim(void)
{
    static const char most_likely[] = "1000";
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return;
    if (write(fd, most_likely, sizeof most_likely - 1) < 0) {
        /* Without it the kernel's own choice stands. */
    }
    close(fd);
}

static _Noreturn void fail(int start_fd, enum report_stage stage)
{
    struct start_failure failure = {.stage = (int32_t)stage, .error_number = errno};

    /* Smaller than PIPE_BUF into an empty pipe: it is written whole or not at all. */
    if (write(start_fd, &failure, sizeof failure) != (ssize_t)sizeof failure)
        _exit(126);
    _exit(127);
}

static _Noreturn void become_command(const struct request *request, const struct ends *ends)
{
    reset_signal_dispositions();
    if (setsid() < 0 || !arrange_descriptors(ends))
        fail(ends->start_pipe[1], STAGE_SETUP);
    prefer_as_oom_victim();
    umask(022);
    if (!privileges_give_up(request->uid, request->gid) || !attributes_freeze())
        fail(START_FD, STAGE_SETUP);
    if (chdir(request->cwd) != 0)
        fail(START_FD, STAGE_CHDIR);
    if (!allow_all_signals())
        fail(START_FD, STAGE_SETUP);
    program_exec(request->argv, request->envp);
    fail(START_FD, STAGE_EXEC);
}

bool child_spawn(const struct request *request, struct child *child, struct start_failure *failure)
{
    struct ends ends = {-1, {-1, -1}, {-1, -1}, {-1, -1}};

    if (!open_ends(request, &ends) || (child->pid = fork()) < 0) {
        failure->stage = (int32_t)STAGE_SETUP;
        failure->error_number = errno;
        close_ends(&ends);
        return false;
    }
    if (child->pid == 0)
        become_command(request, &ends);
    child->stdout_fd = ends.stdout_pipe[0];
    child->stderr_fd = ends.stderr_pipe[0];
    child->start_fd = ends.start_pipe[0];
    ends.stdout_pipe[0] = -1;
    ends.stderr_pipe[0] = -1;
    ends.start_pipe[0] = -1;
    close_ends(&ends);
    return true;
}

enum start_state child_start_state(struct child *child, struct start_failure *failure)
{
    ssize_t count;

    do
        count = read(child->start_fd, failure, sizeof *failure);
    while (count < 0 && errno == EINTR);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return START_PENDING;
    close(child->start_fd);
    child->start_fd = -1;
    return count == (ssize_t)sizeof *failure ? START_FAILED : START_DONE;
}
