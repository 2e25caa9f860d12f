#include "request.h"

#include <stdbool.h>
#include <string.h>

#include "bytes.h"
#include "frame.h"

/* setresuid(2) reads this id as "leave it as it is", which here would mean root. */
#define UNCHANGED_ID UINT32_MAX

struct cursor {
    uint8_t *at;
    size_t left;
};

static bool take_u32(struct cursor *cursor, uint32_t *value)
{
    if (cursor->left < 4)
        return false;
    *value = load_u32(cursor->at);
    cursor->at += 4;
    cursor->left -= 4;
    return true;
}

static bool take_u64(struct cursor *cursor, uint64_t *value)
{
    if (cursor->left < 8)
        return false;
    *value = load_u64(cursor->at);
    cursor->at += 8;
    cursor->left -= 8;
    return true;
}

/*
 * A string's terminator goes where the next field begins, so it can only be written once that field has been read.
 * `pending` remembers the place; every string writes the terminator of the one before it.
 */
struct strings {
    struct cursor cursor;
    uint8_t *pending;
};

static void terminate_pending(struct strings *strings)
{
    if (strings->pending != NULL)
        *strings->pending = 0;
    strings->pending = NULL;
}

static const char *take_string(struct strings *strings, size_t max_bytes, char **string, uint32_t *length)
{
    if (!take_u32(&strings->cursor, length))
        return "request is truncated";
    terminate_pending(strings);
    if (*length > max_bytes)
        return "a string is too long";
    if (*length > strings->cursor.left)
        return "request is truncated";
    if (memchr(strings->cursor.at, 0, *length) != NULL)
        return "a string contains NUL";
    *string = (char *)strings->cursor.at;
    strings->cursor.at += *length;
    strings->cursor.left -= *length;
    strings->pending = strings->cursor.at;
    return NULL;
}

static const char *take_count(struct strings *strings, uint32_t *count)
{
    if (!take_u32(&strings->cursor, count))
        return "request is truncated";
    terminate_pending(strings);
    return NULL;
}

static const char *take_argv(struct strings *strings, struct request *request)
{
    size_t total_bytes = 0;
    const char *wrong = take_count(strings, &request->argc);

    if (wrong != NULL)
        return wrong;
    if (request->argc == 0)
        return "argv is empty";
    if (request->argc > ARGC_MAX)
        return "argv has too many tokens";
    for (uint32_t i = 0; i < request->argc; i++) {
        uint32_t length;

        wrong = take_string(strings, STRING_MAX_BYTES, &request->argv[i], &length);
        if (wrong != NULL)
            return wrong;
        total_bytes += length;
        if (total_bytes > ARGV_TOTAL_MAX_BYTES)
            return "argv is too long";
    }
    request->argv[request->argc] = NULL;
    return NULL;
}

static const char *take_environment(struct strings *strings, struct request *request)
{
    size_t total_bytes = 0;
    const char *wrong = take_count(strings, &request->envc);

    if (wrong != NULL)
        return wrong;
    if (request->envc > ENVC_MAX)
        return "environment has too many entries";
    for (uint32_t i = 0; i < request->envc; i++) {
        uint32_t length;
        const char *equals;

        wrong = take_string(strings, STRING_MAX_BYTES, &request->envp[i], &length);
        if (wrong != NULL)
            return wrong;
        total_bytes += length;
        if (total_bytes > ENV_TOTAL_MAX_BYTES)
            return "environment is too long";
        equals = memchr(request->envp[i], '=', length);
        if (equals == NULL || equals == request->envp[i])
            return "an environment entry is not NAME=VALUE";
    }
    request->envp[request->envc] = NULL;
    return NULL;
}

static const char *take_caps(struct cursor *cursor, struct stream_caps *caps)
{
    if (!take_u64(cursor, &caps->capture_bytes) || !take_u64(cursor, &caps->hard_bytes))
        return "request is truncated";
    if (caps->capture_bytes > caps->hard_bytes)
        return "a capture cap is above its hard cap";
    return NULL;
}

static const char *take_bounds(struct cursor *cursor, struct request *request)
{
    uint32_t version;
    uint32_t flags;
    const char *wrong;

    if (!take_u32(cursor, &version))
        return "request is truncated";
    if (version != PROTOCOL_VERSION)
        return "unsupported protocol version";
    if (!take_u32(cursor, &flags))
        return "request is truncated";
    if (flags != 0)
        return "unknown flags";
    if (!take_u32(cursor, &request->uid) || !take_u32(cursor, &request->gid))
        return "request is truncated";
    if (request->uid == 0 || request->uid == UNCHANGED_ID)
        return "uid is not allowed";
    if (request->gid == 0 || request->gid == UNCHANGED_ID)
        return "gid is not allowed";
    if (!take_u64(cursor, &request->timeout_ms))
        return "request is truncated";
    if (request->timeout_ms == 0)
        return "timeout is zero";
    wrong = take_caps(cursor, &request->stdout_caps);
    return wrong != NULL ? wrong : take_caps(cursor, &request->stderr_caps);
}

const char *request_parse(uint8_t *payload, size_t length, struct request *request)
{
    struct strings strings = {.cursor = {.at = payload, .left = length}, .pending = NULL};
    uint32_t cwd_length;
    const char *wrong = take_bounds(&strings.cursor, request);

    if (wrong != NULL)
        return wrong;
    wrong = take_string(&strings, CWD_MAX_BYTES, &request->cwd, &cwd_length);
    if (wrong != NULL)
        return wrong;
    if (cwd_length == 0 || request->cwd[0] != '/')
        return "cwd is not absolute";
    wrong = take_argv(&strings, request);
    if (wrong != NULL)
        return wrong;
    wrong = take_environment(&strings, request);
    if (wrong != NULL)
        return wrong;
    if (strings.cursor.left != 0)
        return "request has trailing bytes";
    terminate_pending(&strings);
    return NULL;
}
