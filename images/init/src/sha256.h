/* SHA-256 (FIPS 180-4), so that evidence can name output that was not kept. */
#ifndef BAILIFF_SHA256_H
#define BAILIFF_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

struct sha256 {
    uint32_t state[8];
    uint64_t total_bytes;
    uint8_t block[64];
    size_t block_bytes;
};

void sha256_start(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const uint8_t *bytes, size_t count);

/* Works on a copy: the caller may go on adding afterwards. */
void sha256_digest(const struct sha256 *hash, uint8_t digest[SHA256_BYTES]);

#endif
