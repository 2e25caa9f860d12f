/*
 * bailiff-init: PID 1 of a container that runs one command.
 *
 * Waits for one request on stdin, runs it as an unprivileged user, delivers its output as frames on stdout, and
 * reports once nothing of it is left. docs/init-protocol.md is the contract.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bytes.h"
#include "cgroup.h"
#include "child.h"
#include "intake.h"
#include "monotonic.h"
#include "outbox.h"
#include "pump.h"
#include "reap.h"
#include "report.h"
#include "request.h"

/* How long a reader that stalls may hold up the end of the container after everything in it is dead. */
#define DELIVERY_GRACE_MS 10000U

#define EXIT_DELIVERED 0
#define EXIT_UNDELIVERED 70

/* Why the command's time is over. */
enum ending {
    ENDING_BY_ITSELF,
    ENDING_NOT_STARTED,
    ENDING_TIMEOUT,
    ENDING_OUTPUT_LIMIT,
    ENDING_TERMINATED,
    ENDING_OWNER_GONE,
    ENDING_PROTOCOL,
    ENDING_BLIND,
};

struct init {
    int signal_fd;
    struct intake intake;
    struct request request;
    struct reaper reaper;
    struct child child;
    bool started; /* execve succeeded and STARTED was queued */
    struct start_failure start_failure;
    struct pump stdout_pump;
    struct pump stderr_pump;
    uint64_t began_us;
    uint64_t oom_kills_before;
    uint64_t cpu_us_before;
    struct outbox outbox;
};

/* Static because it holds the outbox and the argument vectors, which are too large for a stack. */
static struct init init;

static int deliver(struct outbox *outbox)
{
    uint64_t deadline_us = deadline_after_ms(monotonic_us(), DELIVERY_GRACE_MS);

    return outbox_flush_until(outbox, deadline_us) ? EXIT_DELIVERED : EXIT_UNDELIVERED;
}

static int report_nothing_ran(enum report_kind kind, enum report_stage stage, int error_number, const char *message)
{
    struct report report;

    report_start(&report, kind);
    report.stage = stage;
    report.error_number = error_number;
    report.message = message;
    report_put(&report, &init.outbox);
    return deliver(&init.outbox);
}

static bool set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* Blocks what this process waits for and returns a descriptor for it; -1 with errno set. */
static int open_signals(void)
{
    sigset_t awaited;
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGHUP);
    sigaddset(&awaited, SIGQUIT);
    if (sigprocmask(SIG_SETMASK, &awaited, NULL) != 0 || sigaction(SIGPIPE, &ignore, NULL) != 0)
        return -1;
    return signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* True when one of the pending signals asks to end. Deaths are looked up with waitpid instead of being counted here. */
static bool asked_to_end(int signal_fd)
{
    struct signalfd_siginfo signals[16];
    bool asked = false;

    for (;;) {
        ssize_t count = read(signal_fd, signals, sizeof signals);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return asked;
        for (size_t i = 0; i < (size_t)count / sizeof signals[0]; i++)
            asked = asked || signals[i].ssi_signo != (uint32_t)SIGCHLD;
    }
}

enum waiting {
    WAITING_REQUEST,
    WAITING_CANCELLED,
    WAITING_BAD,
    WAITING_QUIET_END,
};

static enum waiting judge_intake(enum intake_state state)
{
    switch (state) {
    case INTAKE_REQUEST:
        return WAITING_REQUEST;
    case INTAKE_CANCEL:
        return WAITING_CANCELLED;
    case INTAKE_TRUNCATED:
        init.intake.problem = "request is truncated";
        return WAITING_BAD;
    case INTAKE_BAD:
        return WAITING_BAD;
    case INTAKE_EOF:
    case INTAKE_MORE:
    case INTAKE_PING:
        break;
    }
    return WAITING_QUIET_END;
}

static enum waiting await_request(void)
{
    for (;;) {
        struct pollfd fds[3] = {
            {.fd = init.signal_fd, .events = POLLIN, .revents = 0},
            {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
            {.fd = STDOUT_FILENO, .events = 0, .revents = 0},
        };

        outbox_flush(&init.outbox);
        if (init.outbox.broken)
            return WAITING_QUIET_END;
        if (!outbox_empty(&init.outbox))
            fds[2].events = POLLOUT;
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            return WAITING_QUIET_END;
        if (fds[0].revents != 0) {
            (void)reap_available(&init.reaper);
            if (asked_to_end(init.signal_fd))
                return WAITING_QUIET_END;
        }
        if ((fds[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
            return WAITING_QUIET_END;
        if (fds[1].revents != 0) {
            enum intake_state state = intake_read(&init.intake, STDIN_FILENO);

            if (state == INTAKE_PING) {
                /* An owner that asks without end and reads nothing has no claim on this container. */
                if (!outbox_put(&init.outbox, FRAME_PONG, NULL, 0))
                    return WAITING_QUIET_END;
            } else if (state != INTAKE_MORE)
                return judge_intake(state);
        }
    }
}

/* Moves from "forked" to "started" or "failed" once the start pipe says which. */
static void settle_start(void)
{
    if (init.child.start_fd < 0)
        return;
    switch (child_start_state(&init.child, &init.start_failure)) {
    case START_PENDING:
        break;
    case START_DONE:
        init.started = true;
        if (!outbox_put(&init.outbox, FRAME_STARTED, NULL, 0))
            init.outbox.broken = true;
        break;
    case START_FAILED:
        break;
    }
}

static bool start_failed(void)
{
    return !init.started && init.child.start_fd < 0;
}

static int pump_poll_fd(const struct pump *pump)
{
    return init.started && pump_may_read(pump, &init.outbox) ? pump->fd : -1;
}

static bool over_a_hard_cap(void)
{
    return pump_over_hard_cap(&init.stdout_pump) || pump_over_hard_cap(&init.stderr_pump);
}

static enum ending run_until_ending(void)
{
    uint64_t deadline_us = deadline_after_ms(init.began_us, init.request.timeout_ms);

    for (;;) {
        struct pollfd fds[6] = {
            {.fd = init.signal_fd, .events = POLLIN, .revents = 0},
            {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
            {.fd = STDOUT_FILENO, .events = 0, .revents = 0},
            {.fd = init.child.start_fd, .events = POLLIN, .revents = 0},
            {.fd = pump_poll_fd(&init.stdout_pump), .events = POLLIN, .revents = 0},
            {.fd = pump_poll_fd(&init.stderr_pump), .events = POLLIN, .revents = 0},
        };

        if (!outbox_empty(&init.outbox))
            fds[2].events = POLLOUT;
        if (poll(fds, 6, poll_timeout_ms(monotonic_us(), deadline_us)) < 0 && errno != EINTR)
            return ENDING_BLIND;
        if (fds[3].revents != 0) {
            settle_start();
            if (start_failed())
                return ENDING_NOT_STARTED;
        }
        if (fds[0].revents != 0) {
            bool asked = asked_to_end(init.signal_fd);

            (void)reap_available(&init.reaper);
            if (init.reaper.main_ended)
                return ENDING_BY_ITSELF;
            if (asked)
                return ENDING_TERMINATED;
        }
        if (fds[1].revents != 0) {
            switch (intake_read(&init.intake, STDIN_FILENO)) {
            case INTAKE_MORE:
                break;
            case INTAKE_CANCEL:
                return ENDING_TERMINATED;
            case INTAKE_EOF:
            case INTAKE_TRUNCATED:
                return ENDING_OWNER_GONE;
            case INTAKE_REQUEST:
            case INTAKE_PING:
            case INTAKE_BAD:
                return ENDING_PROTOCOL;
            }
        }
        if (monotonic_us() >= deadline_us)
            return ENDING_TIMEOUT;
        if (fds[4].revents != 0)
            (void)pump_read(&init.stdout_pump, &init.outbox, OUTPUT_FRAME_MAX_BYTES);
        /* Asked again: the first stream may just have taken the last room. */
        if (fds[5].revents != 0 && pump_may_read(&init.stderr_pump, &init.outbox))
            (void)pump_read(&init.stderr_pump, &init.outbox, OUTPUT_FRAME_MAX_BYTES);
        if (over_a_hard_cap())
            return ENDING_OUTPUT_LIMIT;
        outbox_flush(&init.outbox);
        if (init.outbox.broken || (fds[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
            return ENDING_OWNER_GONE;
    }
}

/* One turn of the last reads of a stream; returns whether it got anything. */
static bool drain_some(struct pump *pump, uint64_t *left_bytes)
{
    uint64_t count;

    if (*left_bytes == 0 || !pump_may_read(pump, &init.outbox))
        return false;
    count = pump_read(pump, &init.outbox, *left_bytes);
    *left_bytes = count == 0 ? 0 : *left_bytes - count;
    return true;
}

/* Everything the dead processes had written is still in the pipes. Takes exactly that, while the reader keeps up. */
static bool drain(uint64_t deadline_us)
{
    uint64_t stdout_left = pump_waiting_bytes(&init.stdout_pump);
    uint64_t stderr_left = pump_waiting_bytes(&init.stderr_pump);

    while (stdout_left > 0 || stderr_left > 0) {
        bool moved = drain_some(&init.stdout_pump, &stdout_left);

        moved = drain_some(&init.stderr_pump, &stderr_left) || moved;
        outbox_flush(&init.outbox);
        if (init.outbox.broken)
            return false;
        if (!moved && (stdout_left > 0 || stderr_left > 0) && !outbox_wait(&init.outbox, deadline_us))
            return false;
    }
    return true;
}

static uint64_t used_since(uint64_t before, uint64_t now)
{
    if (before == UNKNOWN_U64 || now == UNKNOWN_U64)
        return UNKNOWN_U64;
    return now > before ? now - before : 0;
}

static uint64_t timeval_us(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000U + (uint64_t)time.tv_usec;
}

/*
 * A process whose parent ignores SIGCHLD vanishes from what wait(2) adds up, and a cgroup may be missing. Both count
 * the same work, so the larger one is the truer.
 */
static uint64_t cpu_used_us(void)
{
    uint64_t by_cgroup = used_since(init.cpu_us_before, cgroup_cpu_us());
    uint64_t by_wait = UNKNOWN_U64;
    struct rusage usage;

    if (getrusage(RUSAGE_CHILDREN, &usage) == 0)
        by_wait = timeval_us(usage.ru_utime) + timeval_us(usage.ru_stime);
    if (by_cgroup == UNKNOWN_U64)
        return by_wait;
    return by_wait == UNKNOWN_U64 || by_cgroup > by_wait ? by_cgroup : by_wait;
}

static void describe_own_end(struct report *report, int status)
{
    if (WIFSIGNALED(status)) {
        report->kind = KIND_SIGNALED;
        report->signal = WTERMSIG(status);
    } else {
        report->kind = KIND_EXITED;
        report->exit_code = WEXITSTATUS(status);
    }
}

static void describe_ending(struct report *report, enum ending ending)
{
    if (start_failed()) {
        report->kind = KIND_START_FAILED;
        report->stage = (enum report_stage)init.start_failure.stage;
        report->error_number = init.start_failure.error_number;
        return;
    }
    if (over_a_hard_cap()) {
        report->kind = KIND_OUTPUT_LIMIT;
        report->stream = pump_over_hard_cap(&init.stdout_pump) ? STREAM_STDOUT : STREAM_STDERR;
        return;
    }
    switch (ending) {
    case ENDING_BY_ITSELF:
        describe_own_end(report, init.reaper.main_status);
        break;
    case ENDING_TIMEOUT:
        report->kind = KIND_TIMED_OUT;
        break;
    case ENDING_TERMINATED:
        report->kind = KIND_TERMINATED;
        break;
    case ENDING_OWNER_GONE:
        report->kind = KIND_OWNER_GONE;
        break;
    case ENDING_PROTOCOL:
        report->stage = STAGE_REQUEST;
        report->message = "unexpected bytes after the request";
        break;
    case ENDING_BLIND:
        report->message = "cannot wait for events";
        break;
    case ENDING_NOT_STARTED:
    case ENDING_OUTPUT_LIMIT:
        break;
    }
}

static int end_and_report(enum ending ending)
{
    struct report report;
    uint64_t deadline_us;

    /* A process that ended before it was killed ended by itself, whatever else became true meanwhile. */
    (void)reap_available(&init.reaper);
    if (init.reaper.main_ended)
        ending = ENDING_BY_ITSELF;
    kill_and_reap_all(&init.reaper);

    report_start(&report, KIND_INTERNAL_ERROR);
    report.wall_us = monotonic_us() - init.began_us;
    report.cpu_us = cpu_used_us();
    report.oom_kills = used_since(init.oom_kills_before, cgroup_oom_kills());
    report.peak_memory_bytes = cgroup_peak_memory_bytes();

    settle_start();
    deadline_us = deadline_after_ms(monotonic_us(), DELIVERY_GRACE_MS);
    if (init.started && !drain(deadline_us))
        return EXIT_UNDELIVERED;
    describe_ending(&report, ending);
    report.stdout_bytes = init.stdout_pump.seen_bytes;
    report.stderr_bytes = init.stderr_pump.seen_bytes;
    sha256_digest(&init.stdout_pump.hash, report.stdout_sha256);
    sha256_digest(&init.stderr_pump.hash, report.stderr_sha256);
    report_put(&report, &init.outbox);
    return outbox_flush_until(&init.outbox, deadline_us) ? EXIT_DELIVERED : EXIT_UNDELIVERED;
}

static int run(void)
{
    init.oom_kills_before = cgroup_oom_kills();
    init.cpu_us_before = cgroup_cpu_us();
    init.began_us = monotonic_us();
    if (!child_spawn(&init.request, &init.child, &init.start_failure))
        return report_nothing_ran(KIND_START_FAILED, (enum report_stage)init.start_failure.stage,
                                  init.start_failure.error_number, "");
    init.reaper.main_pid = init.child.pid;
    pump_start(&init.stdout_pump, init.child.stdout_fd, FRAME_STDOUT, init.request.stdout_caps);
    pump_start(&init.stderr_pump, init.child.stderr_fd, FRAME_STDERR, init.request.stderr_caps);
    return end_and_report(run_until_ending());
}

static int serve(void)
{
    const char *problem;

    switch (await_request()) {
    case WAITING_QUIET_END:
        return EXIT_DELIVERED;
    case WAITING_BAD:
        return report_nothing_ran(KIND_BAD_REQUEST, STAGE_REQUEST, 0, init.intake.problem);
    case WAITING_CANCELLED:
        return report_nothing_ran(KIND_TERMINATED, STAGE_NONE, 0, "");
    case WAITING_REQUEST:
        break;
    }
    problem = request_parse(init.intake.payload, init.intake.length, &init.request);
    if (problem != NULL)
        return report_nothing_ran(KIND_BAD_REQUEST, STAGE_REQUEST, 0, problem);
    /* What already follows the request decides whether it may run at all. */
    switch (intake_read(&init.intake, STDIN_FILENO)) {
    case INTAKE_CANCEL:
        return report_nothing_ran(KIND_TERMINATED, STAGE_NONE, 0, "");
    case INTAKE_EOF:
        return report_nothing_ran(KIND_OWNER_GONE, STAGE_NONE, 0, "");
    case INTAKE_REQUEST:
    case INTAKE_PING:
    case INTAKE_BAD:
    case INTAKE_TRUNCATED:
        return report_nothing_ran(KIND_BAD_REQUEST, STAGE_REQUEST, 0, "unexpected bytes after the request");
    case INTAKE_MORE:
        break;
    }
    return run();
}

int main(void)
{
    uint8_t version[4];

    /* Descriptors 0 to 2 must be taken, or a pipe could land on one of them. */
    if (fcntl(STDIN_FILENO, F_GETFD) < 0 || fcntl(STDOUT_FILENO, F_GETFD) < 0)
        return EXIT_UNDELIVERED;
    if (fcntl(STDERR_FILENO, F_GETFD) < 0 && open("/dev/null", O_WRONLY) != STDERR_FILENO)
        return EXIT_UNDELIVERED;
    outbox_start(&init.outbox, STDOUT_FILENO);
    intake_start(&init.intake);
    if (getpid() != 1)
        return report_nothing_ran(KIND_INTERNAL_ERROR, STAGE_SETUP, 0, "not PID 1 of a PID namespace");
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return report_nothing_ran(KIND_INTERNAL_ERROR, STAGE_SETUP, errno, "cannot protect itself");
    if (!set_nonblocking(STDIN_FILENO) || !set_nonblocking(STDOUT_FILENO))
        return report_nothing_ran(KIND_INTERNAL_ERROR, STAGE_SETUP, errno, "cannot use its descriptors");
    init.signal_fd = open_signals();
    if (init.signal_fd < 0)
        return report_nothing_ran(KIND_INTERNAL_ERROR, STAGE_SETUP, errno, "cannot receive signals");
    store_u32(version, PROTOCOL_VERSION);
    if (!outbox_put(&init.outbox, FRAME_READY, version, sizeof version))
        return EXIT_UNDELIVERED;
    return serve();
}
