/* REPORT: the one final frame. */
#ifndef BAILIFF_REPORT_H
#define BAILIFF_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "outbox.h"
#include "sha256.h"

#define UNKNOWN_U64 UINT64_MAX
#define REPORT_FIXED_BYTES 132U
#define REPORT_MESSAGE_MAX_BYTES 256U

enum report_kind {
    KIND_EXITED = 1,
    KIND_SIGNALED = 2,
    KIND_START_FAILED = 3,
    KIND_TIMED_OUT = 4,
    KIND_OUTPUT_LIMIT = 5,
    KIND_TERMINATED = 6,
    KIND_OWNER_GONE = 7,
    KIND_BAD_REQUEST = 8,
    KIND_INTERNAL_ERROR = 9,
};

enum report_stage {
    STAGE_NONE = 0,
    STAGE_CHDIR = 1,
    STAGE_EXEC = 2,
    STAGE_SETUP = 3,
    STAGE_REQUEST = 4,
};

enum report_stream {
    STREAM_NONE = 0,
    STREAM_STDOUT = 1,
    STREAM_STDERR = 2,
};

struct report {
    enum report_kind kind;
    enum report_stage stage;
    enum report_stream stream;
    int32_t error_number;
    int32_t exit_code; /* -1 unless KIND_EXITED */
    int32_t signal;    /* 0 unless KIND_SIGNALED */
    uint64_t oom_kills;
    uint64_t stdout_bytes;
    uint64_t stderr_bytes;
    uint8_t stdout_sha256[SHA256_BYTES];
    uint8_t stderr_sha256[SHA256_BYTES];
    uint64_t wall_us;
    uint64_t cpu_us;
    uint64_t peak_memory_bytes;
    const char *message; /* constant text, never caller data */
};

/* A report in which nothing ran: no output, no usage. */
void report_start(struct report *report, enum report_kind kind);

/* Returns the number of bytes written to `bytes`. */
size_t report_encode(const struct report *report, uint8_t bytes[REPORT_FIXED_BYTES + REPORT_MESSAGE_MAX_BYTES]);

void report_put(const struct report *report, struct outbox *outbox);

#endif
