/* Frames of the protocol: an 8-byte header (type, three zero bytes, payload length) and the payload. */
#ifndef BAILIFF_FRAME_H
#define BAILIFF_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOCOL_VERSION 1U
#define FRAME_HEADER_BYTES 8U
#define OUTPUT_FRAME_MAX_BYTES (64U * 1024U)
#define REQUEST_MAX_BYTES (4U * 1024U * 1024U)

enum frame_type {
    FRAME_READY = 0x01,
    FRAME_STARTED = 0x02,
    FRAME_STDOUT = 0x03,
    FRAME_STDERR = 0x04,
    FRAME_REPORT = 0x05,
    FRAME_PONG = 0x06,
    FRAME_REQUEST = 0x10,
    FRAME_CANCEL = 0x11,
    FRAME_PING = 0x12,
};

struct frame_header {
    uint8_t type;
    uint32_t length;
};

/* False when a reserved byte is not zero. */
bool frame_header_decode(const uint8_t bytes[FRAME_HEADER_BYTES], struct frame_header *header);
void frame_header_encode(uint8_t bytes[FRAME_HEADER_BYTES], enum frame_type type, uint32_t length);

#endif
