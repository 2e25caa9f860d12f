/* The one REQUEST of a container: what to run, as whom, and within which bounds. */
#ifndef BAILIFF_REQUEST_H
#define BAILIFF_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#define ARGC_MAX 4096U
#define ENVC_MAX 4096U
#define STRING_MAX_BYTES 131071U
#define ARGV_TOTAL_MAX_BYTES (1024U * 1024U)
#define ENV_TOTAL_MAX_BYTES (1024U * 1024U)
#define CWD_MAX_BYTES 4095U

struct stream_caps {
    uint64_t capture_bytes; /* delivered up to here; the rest is counted, hashed and dropped */
    uint64_t hard_bytes;    /* passing this ends the command */
};

struct request {
    uint32_t uid;
    uint32_t gid;
    uint64_t timeout_ms;
    struct stream_caps stdout_caps;
    struct stream_caps stderr_caps;
    char *cwd;
    uint32_t argc;
    char *argv[ARGC_MAX + 1];
    uint32_t envc;
    char *envp[ENVC_MAX + 1];
};

/*
 * Parses a REQUEST payload of `length` bytes in place: the strings of *request point into `payload`, which must have
 * room for length + 1 bytes and outlive the request. Returns NULL, or a constant text that says what is wrong; then
 * *request must not be used.
 */
const char *request_parse(uint8_t *payload, size_t length, struct request *request);

#endif
