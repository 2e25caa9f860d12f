#include "frame.h"

#include "bytes.h"

bool frame_header_decode(const uint8_t bytes[FRAME_HEADER_BYTES], struct frame_header *header)
{
    header->type = bytes[0];
    header->length = load_u32(bytes + 4);
    return bytes[1] == 0 && bytes[2] == 0 && bytes[3] == 0;
}

void frame_header_encode(uint8_t bytes[FRAME_HEADER_BYTES], enum frame_type type, uint32_t length)
{
    bytes[0] = (uint8_t)type;
    bytes[1] = 0;
    bytes[2] = 0;
    bytes[3] = 0;
    store_u32(bytes + 4, length);
}
