#include "intake.h"

#include <string.h>

#include "bytes.h"
#include "check.h"

/* Feeds at most `piece` bytes a time; returns the state that ended it and how many bytes were used. */
static enum intake_state feed(struct intake *intake, const uint8_t *bytes, size_t length, size_t piece, size_t *used)
{
    enum intake_state state = INTAKE_MORE;

    *used = 0;
    while (*used < length && state == INTAKE_MORE) {
        size_t wanted;
        uint8_t *space = intake_space(intake, &wanted);
        size_t count = length - *used;

        count = count < wanted ? count : wanted;
        count = count < piece ? count : piece;
        memcpy(space, bytes + *used, count);
        *used += count;
        state = intake_advance(intake, count);
    }
    return state;
}

static void a_request_and_what_follows_are_kept_apart(void)
{
    static const uint8_t bytes[] = {0x10, 0, 0, 0, 0, 0, 0, 3, 'a', 'b', 'c', 0x11, 0, 0, 0, 0, 0, 0, 0};

    for (size_t piece = 1; piece <= sizeof bytes; piece++) {
        struct intake intake;
        size_t used;

        intake_start(&intake);
        CHECK(feed(&intake, bytes, sizeof bytes, piece, &used) == INTAKE_REQUEST);
        CHECK(used == 11 && intake.length == 3 && memcmp(intake.payload, "abc", 3) == 0);
        CHECK(feed(&intake, bytes + used, sizeof bytes - used, piece, &used) == INTAKE_CANCEL);
        free(intake.payload);
    }
}

static void expect_bad(const uint8_t header[8], const char *problem)
{
    struct intake intake;
    size_t used;

    intake_start(&intake);
    CHECK(feed(&intake, header, 8, 8, &used) == INTAKE_BAD);
    CHECK(strcmp(intake.problem, problem) == 0);
    free(intake.payload);
}

static void bad_headers_are_refused_before_any_payload(void)
{
    expect_bad((const uint8_t[8]){0x13, 0, 0, 0, 0, 0, 0, 1}, "unknown frame type");
    expect_bad((const uint8_t[8]){'G', 'E', 'T', ' ', '/', ' ', 'H', 'T'}, "frame header is malformed");
    expect_bad((const uint8_t[8]){0x10, 0, 0, 1, 0, 0, 0, 1}, "frame header is malformed");
    expect_bad((const uint8_t[8]){0x10, 0, 0, 0, 0, 0, 0, 0}, "request is truncated");
    expect_bad((const uint8_t[8]){0x10, 0, 0, 0, 0, 0x40, 0, 1}, "request is too large");
    expect_bad((const uint8_t[8]){0x10, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, "request is too large");
    expect_bad((const uint8_t[8]){0x11, 0, 0, 0, 0, 0, 0, 1}, "cancel frame has a payload");
    expect_bad((const uint8_t[8]){0x12, 0, 0, 0, 0, 0, 0, 1}, "ping frame has a payload");
}

static void the_largest_request_is_taken(void)
{
    static uint8_t bytes[FRAME_HEADER_BYTES + REQUEST_MAX_BYTES] = {0x10};
    struct intake intake;
    size_t used;

    store_u32(bytes + 4, REQUEST_MAX_BYTES);
    intake_start(&intake);
    CHECK(feed(&intake, bytes, sizeof bytes, 65536, &used) == INTAKE_REQUEST);
    CHECK(used == sizeof bytes);
    free(intake.payload);
}

static void a_second_request_is_refused(void)
{
    static const uint8_t bytes[] = {0x10, 0, 0, 0, 0, 0, 0, 1, 'a'};
    struct intake intake;
    size_t used;

    intake_start(&intake);
    CHECK(feed(&intake, bytes, sizeof bytes, 9, &used) == INTAKE_REQUEST);
    CHECK(feed(&intake, bytes, sizeof bytes, 9, &used) == INTAKE_BAD);
    CHECK(strcmp(intake.problem, "unexpected bytes after the request") == 0);
    free(intake.payload);
}

static void pings_come_before_the_request_only(void)
{
    static const uint8_t bytes[] = {0x12, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 1, 'a', 0x12, 0, 0, 0, 0, 0, 0, 0};

    for (size_t piece = 1; piece <= sizeof bytes; piece++) {
        struct intake intake;
        size_t used;

        intake_start(&intake);
        CHECK(feed(&intake, bytes, 8, piece, &used) == INTAKE_PING);
        CHECK(feed(&intake, bytes + 8, 9, piece, &used) == INTAKE_REQUEST);
        CHECK(feed(&intake, bytes + 17, 8, piece, &used) == INTAKE_BAD);
        CHECK(strcmp(intake.problem, "unexpected bytes after the request") == 0);
        free(intake.payload);
    }
}

int main(void)
{
    pings_come_before_the_request_only();
    a_request_and_what_follows_are_kept_apart();
    bad_headers_are_refused_before_any_payload();
    the_largest_request_is_taken();
    a_second_request_is_refused();
    return 0;
}
