#include "request.h"

#include "request-bytes.h"

static struct request request;

/* Parses a copy of exactly the size that the contract asks for, so that the sanitizer sees one byte too many. */
static const char *parse(struct request_bytes *bytes, uint8_t **copy)
{
    *copy = malloc(bytes->length + 1U);
    CHECK(*copy != NULL);
    if (bytes->length > 0)
        memcpy(*copy, bytes->at, bytes->length);
    return request_parse(*copy, bytes->length, &request);
}

static void expect(struct request_bytes *bytes, const char *problem)
{
    uint8_t *copy;
    const char *said = parse(bytes, &copy);

    if (problem == NULL) {
        CHECK(said == NULL);
    } else {
        CHECK(said != NULL);
        CHECK(strcmp(said, problem) == 0);
    }
    free(copy);
    free(bytes->at);
    memset(bytes, 0, sizeof *bytes);
}

static void expect_bounds(struct bounds bounds, const char *problem)
{
    struct request_bytes bytes = {0};

    put_bounds(&bytes, bounds);
    put_tail(&bytes);
    expect(&bytes, problem);
}

static void a_good_request_is_taken_as_sent(void)
{
    struct request_bytes bytes = {0};
    uint8_t *copy;

    put_bounds(&bytes, GOOD_BOUNDS);
    put_tail(&bytes);
    CHECK(parse(&bytes, &copy) == NULL);
    CHECK(request.uid == 10001 && request.gid == 10002 && request.timeout_ms == 30000);
    CHECK(request.stdout_caps.capture_bytes == 100 && request.stdout_caps.hard_bytes == 200);
    CHECK(request.stderr_caps.capture_bytes == 300 && request.stderr_caps.hard_bytes == 400);
    CHECK(strcmp(request.cwd, "/workspace") == 0);
    CHECK(request.argc == 2 && strcmp(request.argv[0], "echo") == 0 && strcmp(request.argv[1], "") == 0);
    CHECK(request.argv[2] == NULL);
    CHECK(request.envc == 2 && strcmp(request.envp[0], "A=b") == 0 && strcmp(request.envp[1], "B=") == 0);
    CHECK(request.envp[2] == NULL);
    free(copy);
    free(bytes.at);
}

static void every_truncation_is_refused(void)
{
    struct request_bytes bytes = {0};
    size_t whole;

    put_bounds(&bytes, GOOD_BOUNDS);
    put_tail(&bytes);
    whole = bytes.length;
    for (size_t length = 0; length < whole; length++) {
        uint8_t *copy;

        bytes.length = length;
        CHECK(parse(&bytes, &copy) != NULL);
        free(copy);
    }
    bytes.length = whole;
    put(&bytes, "", 1);
    expect(&bytes, "request has trailing bytes");
}

static void bounds_are_kept(void)
{
    struct bounds bounds = GOOD_BOUNDS;

    bounds.version = 2;
    expect_bounds(bounds, "unsupported protocol version");
    bounds = GOOD_BOUNDS;
    bounds.flags = 1;
    expect_bounds(bounds, "unknown flags");
    bounds = GOOD_BOUNDS;
    bounds.timeout_ms = 0;
    expect_bounds(bounds, "timeout is zero");
    bounds.timeout_ms = UINT64_MAX;
    expect_bounds(bounds, NULL);
    bounds = GOOD_BOUNDS;
    bounds.stderr_capture = 401;
    expect_bounds(bounds, "a capture cap is above its hard cap");
    bounds.stderr_capture = 400;
    expect_bounds(bounds, NULL);
}

static void root_and_the_unchanged_id_are_refused(void)
{
    static const uint32_t refused[] = {0, UINT32_MAX};

    for (size_t i = 0; i < 2; i++) {
        struct bounds bounds = GOOD_BOUNDS;

        bounds.uid = refused[i];
        expect_bounds(bounds, "uid is not allowed");
        bounds = GOOD_BOUNDS;
        bounds.gid = refused[i];
        expect_bounds(bounds, "gid is not allowed");
    }
}

static void expect_cwd(const char *cwd, size_t length, const char *problem)
{
    struct request_bytes bytes = {0};

    put_bounds(&bytes, GOOD_BOUNDS);
    put_string(&bytes, cwd, length);
    put_u32(&bytes, 1);
    put_string(&bytes, "true", 4);
    put_u32(&bytes, 0);
    expect(&bytes, problem);
}

static void cwd_is_absolute_and_bounded(void)
{
    static char longest[4097];

    memset(longest, '/', sizeof longest);
    expect_cwd(longest, 4095, NULL);
    expect_cwd(longest, 4096, "a string is too long");
    expect_cwd("", 0, "cwd is not absolute");
    expect_cwd("workspace", 9, "cwd is not absolute");
    expect_cwd("/a\0b", 4, "a string contains NUL");
}

static void expect_tokens(uint32_t count, size_t token_bytes, const char *problem)
{
    struct request_bytes bytes = {0};

    put_bounds(&bytes, GOOD_BOUNDS);
    put_string(&bytes, "/", 1);
    put_u32(&bytes, count);
    for (uint32_t i = 0; i < count; i++)
        put_filler(&bytes, token_bytes);
    put_u32(&bytes, 0);
    expect(&bytes, problem);
}

static void argv_is_bounded(void)
{
    expect_tokens(0, 0, "argv is empty");
    expect_tokens(1, 0, NULL);
    expect_tokens(4095, 1, NULL);
    expect_tokens(4096, 1, NULL);
    expect_tokens(4097, 1, "argv has too many tokens");
    expect_tokens(1, 131070, NULL);
    expect_tokens(1, 131071, NULL);
    expect_tokens(1, 131072, "a string is too long");
    expect_tokens(16, 65536, NULL);
    expect_tokens(16, 65537, "argv is too long");
}

static void expect_entry(const char *entry, size_t length, const char *problem)
{
    struct request_bytes bytes = {0};

    put_bounds(&bytes, GOOD_BOUNDS);
    put_string(&bytes, "/", 1);
    put_u32(&bytes, 1);
    put_string(&bytes, "true", 4);
    put_u32(&bytes, 1);
    put_string(&bytes, entry, length);
    expect(&bytes, problem);
}

static void environment_is_names_and_values(void)
{
    expect_entry("A=", 2, NULL);
    expect_entry("A=b=c", 5, NULL);
    expect_entry("", 0, "an environment entry is not NAME=VALUE");
    expect_entry("A", 1, "an environment entry is not NAME=VALUE");
    expect_entry("=b", 2, "an environment entry is not NAME=VALUE");
    expect_entry("A=b\0c", 5, "a string contains NUL");
}

static void counts_and_lengths_do_not_overflow(void)
{
    struct request_bytes bytes = {0};

    put_bounds(&bytes, GOOD_BOUNDS);
    put_u32(&bytes, UINT32_MAX);
    expect(&bytes, "a string is too long");
    put_bounds(&bytes, GOOD_BOUNDS);
    put_string(&bytes, "/", 1);
    put_u32(&bytes, UINT32_MAX);
    expect(&bytes, "argv has too many tokens");
    put_bounds(&bytes, GOOD_BOUNDS);
    put_string(&bytes, "/", 1);
    put_u32(&bytes, 1);
    put_string(&bytes, "true", 4);
    put_u32(&bytes, UINT32_MAX);
    expect(&bytes, "environment has too many entries");
}

/* A small generator of its own, so that a failure is the same on every machine. */
static uint64_t random_state = 0x9e3779b97f4a7c15U;

static uint32_t random_u32(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32);
}

static void mutate(struct request_bytes *bytes)
{
    uint32_t times = 1U + random_u32() % 4U;

    for (uint32_t i = 0; i < times && bytes->length > 4; i++) {
        size_t at = random_u32() % bytes->length;

        switch (random_u32() % 5U) {
        case 0:
            bytes->at[at] = (uint8_t)random_u32();
            break;
        case 1:
            bytes->at[at] ^= (uint8_t)(1U << (random_u32() % 8U));
            break;
        case 2:
            bytes->length = at;
            break;
        case 3:
            store_u32(bytes->at + at % (bytes->length - 3U), random_u32() % 2U == 0 ? random_u32() : random_u32() % 16U);
            break;
        default:
            memmove(bytes->at + at, bytes->at + at + 1, bytes->length - at - 1);
            bytes->length--;
            break;
        }
    }
}

static void mutants_are_refused_or_wholly_inside(void)
{
    struct request_bytes good = {0};

    put_bounds(&good, GOOD_BOUNDS);
    put_tail(&good);
    for (unsigned round = 0; round < 200000; round++) {
        struct request_bytes mutant = {0};
        uint8_t *copy;

        put(&mutant, good.at, good.length);
        mutate(&mutant);
        if (parse(&mutant, &copy) == NULL) {
            size_t text_bytes = strlen(request.cwd);

            for (uint32_t i = 0; i < request.argc; i++)
                text_bytes += strlen(request.argv[i]);
            for (uint32_t i = 0; i < request.envc; i++)
                text_bytes += strlen(request.envp[i]);
            CHECK(text_bytes <= mutant.length);
            CHECK(request.argv[request.argc] == NULL && request.envp[request.envc] == NULL);
            CHECK(request.uid != 0 && request.gid != 0 && request.uid != UINT32_MAX && request.gid != UINT32_MAX);
        }
        free(copy);
        free(mutant.at);
    }
    free(good.at);
}

int main(void)
{
    a_good_request_is_taken_as_sent();
    every_truncation_is_refused();
    bounds_are_kept();
    root_and_the_unchanged_id_are_refused();
    cwd_is_absolute_and_bounded();
    argv_is_bounded();
    environment_is_names_and_values();
    counts_and_lengths_do_not_overflow();
    mutants_are_refused_or_wholly_inside();
    return 0;
}
