/* Big-endian loads and stores: the only integer encoding of the protocol. */
#ifndef BAILIFF_BYTES_H
#define BAILIFF_BYTES_H

#include <stdint.h>

static inline uint32_t load_u32(const uint8_t *from)
{
    return ((uint32_t)from[0] << 24) | ((uint32_t)from[1] << 16) | ((uint32_t)from[2] << 8) | (uint32_t)from[3];
}

static inline uint64_t load_u64(const uint8_t *from)
{
    return ((uint64_t)load_u32(from) << 32) | load_u32(from + 4);
}

static inline void store_u32(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)(value >> 24);
    to[1] = (uint8_t)(value >> 16);
    to[2] = (uint8_t)(value >> 8);
    to[3] = (uint8_t)value;
}

static inline void store_u64(uint8_t *to, uint64_t value)
{
    store_u32(to, (uint32_t)(value >> 32));
    store_u32(to + 4, (uint32_t)value);
}

#endif
