/* Frames on their way to the broker: a bounded buffer before a non-blocking descriptor. */
#ifndef BAILIFF_OUTBOX_H
#define BAILIFF_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

#define OUTBOX_CAPACITY_BYTES (512U * 1024U)

/* Kept free of output, so that STARTED and REPORT always fit whatever the reader does. */
#define OUTBOX_RESERVED_BYTES 1024U

struct outbox {
    int fd;
    bool broken; /* the reader is gone: nothing can be delivered any more */
    size_t begin;
    size_t end;
    uint8_t bytes[OUTBOX_CAPACITY_BYTES];
};

void outbox_start(struct outbox *outbox, int fd);
bool outbox_empty(const struct outbox *outbox);

/* Whether one more full output frame fits beside the reserve. */
bool outbox_has_room_for_output(const struct outbox *outbox);

/* False, and nothing queued, when the frame does not fit. */
bool outbox_put(struct outbox *outbox, enum frame_type type, const uint8_t *payload, uint32_t length);

/* Writes what the descriptor takes now; never blocks. */
void outbox_flush(struct outbox *outbox);

/* Writes everything, or gives up at deadline_us. True when all of it was written. */
bool outbox_flush_until(struct outbox *outbox, uint64_t deadline_us);

/* Waits until the descriptor takes bytes; false at deadline_us or when the reader is gone. */
bool outbox_wait(struct outbox *outbox, uint64_t deadline_us);

#endif
