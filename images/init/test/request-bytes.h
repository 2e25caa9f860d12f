/* Builds REQUEST payloads, right ones and wrong ones. */
#ifndef BAILIFF_REQUEST_BYTES_H
#define BAILIFF_REQUEST_BYTES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "check.h"

struct request_bytes {
    uint8_t *at;
    size_t length;
    size_t capacity;
};

static inline void put(struct request_bytes *to, const void *bytes, size_t count)
{
    if (to->length + count > to->capacity) {
        to->capacity = (to->length + count) * 2U;
        to->at = realloc(to->at, to->capacity);
        CHECK(to->at != NULL);
    }
    if (count > 0)
        memcpy(to->at + to->length, bytes, count);
    to->length += count;
}

static inline void put_u32(struct request_bytes *to, uint32_t value)
{
    uint8_t bytes[4];

    store_u32(bytes, value);
    put(to, bytes, sizeof bytes);
}

static inline void put_u64(struct request_bytes *to, uint64_t value)
{
    uint8_t bytes[8];

    store_u64(bytes, value);
    put(to, bytes, sizeof bytes);
}

static inline void put_string(struct request_bytes *to, const void *bytes, size_t count)
{
    put_u32(to, (uint32_t)count);
    put(to, bytes, count);
}

static inline void put_filler(struct request_bytes *to, size_t count)
{
    char *filler = malloc(count + 1U);

    CHECK(filler != NULL);
    memset(filler, 'x', count);
    put_string(to, filler, count);
    free(filler);
}

struct bounds {
    uint32_t version, flags, uid, gid;
    uint64_t timeout_ms, stdout_capture, stdout_hard, stderr_capture, stderr_hard;
};

#define GOOD_BOUNDS ((struct bounds){1, 0, 10001, 10002, 30000, 100, 200, 300, 400})

static inline void put_bounds(struct request_bytes *to, struct bounds bounds)
{
    put_u32(to, bounds.version);
    put_u32(to, bounds.flags);
    put_u32(to, bounds.uid);
    put_u32(to, bounds.gid);
    put_u64(to, bounds.timeout_ms);
    put_u64(to, bounds.stdout_capture);
    put_u64(to, bounds.stdout_hard);
    put_u64(to, bounds.stderr_capture);
    put_u64(to, bounds.stderr_hard);
}

/* {"echo", ""} in /workspace with A=b and B= */
static inline void put_tail(struct request_bytes *to)
{
    put_string(to, "/workspace", 10);
    put_u32(to, 2);
    put_string(to, "echo", 4);
    put_string(to, "", 0);
    put_u32(to, 2);
    put_string(to, "A=b", 3);
    put_string(to, "B=", 2);
}

#endif
