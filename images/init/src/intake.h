/* What the broker sends, taken in as it arrives: PINGs, then the REQUEST, later only CANCEL. */
#ifndef BAILIFF_INTAKE_H
#define BAILIFF_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

enum intake_state {
    INTAKE_MORE,      /* the frame is not complete */
    INTAKE_REQUEST,   /* `payload` holds `length` bytes of a REQUEST */
    INTAKE_CANCEL,
    INTAKE_PING,
    INTAKE_BAD,       /* `problem` says why; nothing more may be read */
    INTAKE_EOF,       /* the broker closed its end between two frames */
    INTAKE_TRUNCATED, /* the broker closed its end inside a frame */
};

struct intake {
    bool request_taken; /* a second REQUEST is an error */
    uint8_t header[FRAME_HEADER_BYTES];
    size_t header_bytes;
    uint8_t *payload; /* length + 1 bytes: the parser terminates the last string in place */
    size_t length;
    size_t payload_bytes;
    const char *problem;
};

void intake_start(struct intake *intake);

/* Where the next bytes belong and how many are wanted. Never more than the current frame needs. */
uint8_t *intake_space(struct intake *intake, size_t *wanted);

/* `count` bytes (at most what intake_space wanted) were stored. */
enum intake_state intake_advance(struct intake *intake, size_t count);

/* Reads from a non-blocking descriptor until a frame is complete or nothing is left to read now. */
enum intake_state intake_read(struct intake *intake, int fd);

#endif
