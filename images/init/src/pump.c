#include "pump.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The most a pipe of an unprivileged process can hold by default; used where FIONREAD is not available. */
#define PIPE_MAX_BYTES (1024U * 1024U)

void pump_start(struct pump *pump, int fd, enum frame_type type, struct stream_caps caps)
{
    pump->fd = fd;
    pump->type = type;
    pump->caps = caps;
    pump->seen_bytes = 0;
    sha256_start(&pump->hash);
}

bool pump_may_read(const struct pump *pump, const struct outbox *outbox)
{
    return pump->fd >= 0 && (pump->seen_bytes >= pump->caps.capture_bytes || outbox_has_room_for_output(outbox));
}

bool pump_over_hard_cap(const struct pump *pump)
{
    return pump->seen_bytes > pump->caps.hard_bytes;
}

static void take(struct pump *pump, struct outbox *outbox, const uint8_t *bytes, size_t count)
{
    sha256_add(&pump->hash, bytes, count);
    if (pump->seen_bytes < pump->caps.capture_bytes) {
        uint64_t left = pump->caps.capture_bytes - pump->seen_bytes;
        size_t keep = count < left ? count : (size_t)left;

        if (!outbox_put(outbox, pump->type, bytes, (uint32_t)keep))
            outbox->broken = true;
    }
    pump->seen_bytes += count;
}

uint64_t pump_read(struct pump *pump, struct outbox *outbox, uint64_t max_bytes)
{
    static uint8_t bytes[OUTPUT_FRAME_MAX_BYTES];
    size_t want = max_bytes < sizeof bytes ? (size_t)max_bytes : sizeof bytes;
    ssize_t count;

    do
        count = read(pump->fd, bytes, want);
    while (count < 0 && errno == EINTR);
    if (count > 0) {
        take(pump, outbox, bytes, (size_t)count);
        return (uint64_t)count;
    }
    if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
        close(pump->fd);
        pump->fd = -1;
    }
    return 0;
}

uint64_t pump_waiting_bytes(const struct pump *pump)
{
    int waiting = 0;

    if (pump->fd < 0)
        return 0;
    if (ioctl(pump->fd, FIONREAD, &waiting) != 0)
        return PIPE_MAX_BYTES;
    return waiting > 0 ? (uint64_t)waiting : 0;
}
