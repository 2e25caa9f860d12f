/* One output stream of the command: read, counted, hashed, and delivered up to its capture cap. */
#ifndef BAILIFF_PUMP_H
#define BAILIFF_PUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "outbox.h"
#include "request.h"
#include "sha256.h"

struct pump {
    int fd; /* non-blocking read end; -1 after its end of file */
    enum frame_type type;
    struct stream_caps caps;
    uint64_t seen_bytes;
    struct sha256 hash;
};

void pump_start(struct pump *pump, int fd, enum frame_type type, struct stream_caps caps);

/* Whether reading now could be stored: past the capture cap it always can, before it only with room in the outbox. */
bool pump_may_read(const struct pump *pump, const struct outbox *outbox);

bool pump_over_hard_cap(const struct pump *pump);

/* One read of at most max_bytes. Returns the bytes read; 0 when there is nothing now or the stream ended. */
uint64_t pump_read(struct pump *pump, struct outbox *outbox, uint64_t max_bytes);

/*
 * How many bytes wait in the pipe. Asked once every writer of the namespace is dead, it bounds the last reads even
 * if a copy of the write end was passed to a process outside.
 */
uint64_t pump_waiting_bytes(const struct pump *pump);

#endif
