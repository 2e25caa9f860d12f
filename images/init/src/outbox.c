#include "outbox.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "monotonic.h"

void outbox_start(struct outbox *outbox, int fd)
{
    outbox->fd = fd;
    outbox->broken = false;
    outbox->begin = 0;
    outbox->end = 0;
}

bool outbox_empty(const struct outbox *outbox)
{
    return outbox->begin == outbox->end;
}

static size_t room(const struct outbox *outbox)
{
    return sizeof outbox->bytes - (outbox->end - outbox->begin);
}

bool outbox_has_room_for_output(const struct outbox *outbox)
{
    return room(outbox) >= FRAME_HEADER_BYTES + OUTPUT_FRAME_MAX_BYTES + OUTBOX_RESERVED_BYTES;
}

bool outbox_put(struct outbox *outbox, enum frame_type type, const uint8_t *payload, uint32_t length)
{
    size_t needed = (size_t)FRAME_HEADER_BYTES + length;

    if (needed > room(outbox))
        return false;
    if (needed > sizeof outbox->bytes - outbox->end) {
        memmove(outbox->bytes, outbox->bytes + outbox->begin, outbox->end - outbox->begin);
        outbox->end -= outbox->begin;
        outbox->begin = 0;
    }
    frame_header_encode(outbox->bytes + outbox->end, type, length);
    outbox->end += FRAME_HEADER_BYTES;
    if (length > 0) {
        memcpy(outbox->bytes + outbox->end, payload, length);
        outbox->end += length;
    }
    return true;
}

void outbox_flush(struct outbox *outbox)
{
    while (!outbox->broken && !outbox_empty(outbox)) {
        ssize_t written = write(outbox->fd, outbox->bytes + outbox->begin, outbox->end - outbox->begin);

        if (written > 0) {
            outbox->begin += (size_t)written;
        } else if (written < 0 && errno == EINTR) {
            continue;
        } else if (written < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
            outbox->broken = true;
        } else {
            return;
        }
    }
    if (outbox_empty(outbox)) {
        outbox->begin = 0;
        outbox->end = 0;
    }
}

bool outbox_wait(struct outbox *outbox, uint64_t deadline_us)
{
    struct pollfd writable = {.fd = outbox->fd, .events = POLLOUT, .revents = 0};

    while (!outbox->broken) {
        uint64_t now_us = monotonic_us();
        int ready;

        if (now_us >= deadline_us)
            return false;
        ready = poll(&writable, 1, poll_timeout_ms(now_us, deadline_us));
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
    return false;
}

bool outbox_flush_until(struct outbox *outbox, uint64_t deadline_us)
{
    for (;;) {
        outbox_flush(outbox);
        if (outbox_empty(outbox))
            return true;
        if (!outbox_wait(outbox, deadline_us))
            return false;
    }
}
