#include "outbox.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "check.h"
#include "monotonic.h"

static struct outbox outbox;
static uint8_t payload[OUTPUT_FRAME_MAX_BYTES];

static void open_pipe(int ends[2])
{
    CHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
}

static void a_report_fits_when_output_no_longer_does(void)
{
    int ends[2];

    open_pipe(ends);
    outbox_start(&outbox, ends[1]);
    while (outbox_has_room_for_output(&outbox))
        CHECK(outbox_put(&outbox, FRAME_STDOUT, payload, sizeof payload));
    CHECK(outbox_put(&outbox, FRAME_REPORT, payload, OUTBOX_RESERVED_BYTES - FRAME_HEADER_BYTES));
    CHECK(!outbox_put(&outbox, FRAME_STDOUT, payload, sizeof payload));
    close(ends[0]);
    close(ends[1]);
}

static void a_stalled_reader_does_not_block(void)
{
    int ends[2];

    open_pipe(ends);
    outbox_start(&outbox, ends[1]);
    while (outbox_has_room_for_output(&outbox))
        CHECK(outbox_put(&outbox, FRAME_STDOUT, payload, sizeof payload));
    CHECK(!outbox_flush_until(&outbox, deadline_after_ms(monotonic_us(), 20)));
    CHECK(!outbox.broken && !outbox_empty(&outbox));
    close(ends[0]);
    outbox_flush(&outbox);
    CHECK(outbox.broken);
    close(ends[1]);
}

/* Through every kind of compaction the reader sees the same bytes in the same order. */
static void bytes_keep_their_order(void)
{
    static uint8_t read_bytes[65536];
    uint32_t next_put = 0;
    uint32_t next_got = 0;
    int ends[2];

    open_pipe(ends);
    outbox_start(&outbox, ends[1]);
    while (next_got < 200000) {
        ssize_t count;

        while (next_put < 200000 && outbox_has_room_for_output(&outbox)) {
            uint8_t number[4];

            store_u32(number, next_put++);
            CHECK(outbox_put(&outbox, FRAME_STDERR, number, sizeof number));
        }
        outbox_flush(&outbox);
        /* Whole frames only: 12 bytes each. */
        count = read(ends[0], read_bytes, 12U * 1000U);
        for (ssize_t at = 0; at + 12 <= count; at += 12) {
            CHECK(read_bytes[at] == FRAME_STDERR && load_u32(read_bytes + at + 4) == 4);
            CHECK(load_u32(read_bytes + at + 8) == next_got);
            next_got++;
        }
        CHECK(count % 12 == 0);
    }
    CHECK(outbox_empty(&outbox));
    close(ends[0]);
    close(ends[1]);
}

static void deadlines_saturate(void)
{
    CHECK(deadline_after_ms(5, UINT64_MAX) == DEADLINE_NEVER);
    CHECK(deadline_after_ms(5, UINT64_MAX / 1000U) == DEADLINE_NEVER);
    CHECK(deadline_after_ms(5, 2) == 2005);
    CHECK(poll_timeout_ms(2005, 2005) == 0 && poll_timeout_ms(2006, 2005) == 0);
    CHECK(poll_timeout_ms(0, 1) == 1 && poll_timeout_ms(0, 1000) == 2);
    CHECK(poll_timeout_ms(0, DEADLINE_NEVER) > 0);
}

int main(void)
{
    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    a_report_fits_when_output_no_longer_does();
    a_stalled_reader_does_not_block();
    bytes_keep_their_order();
    deadlines_saturate();
    return 0;
}
