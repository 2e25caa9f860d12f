#include "sha256.h"

#include <string.h>

#include "bytes.h"

static const uint32_t ROUND_CONSTANTS[64] = {
    0x428a2f98U, 0x71374491U, 0xb5c0fbcfU, 0xe9b5dba5U, 0x3956c25bU, 0x59f111f1U, 0x923f82a4U, 0xab1c5ed5U,
    0xd807aa98U, 0x12835b01U, 0x243185beU, 0x550c7dc3U, 0x72be5d74U, 0x80deb1feU, 0x9bdc06a7U, 0xc19bf174U,
    0xe49b69c1U, 0xefbe4786U, 0x0fc19dc6U, 0x240ca1ccU, 0x2de92c6fU, 0x4a7484aaU, 0x5cb0a9dcU, 0x76f988daU,
    0x983e5152U, 0xa831c66dU, 0xb00327c8U, 0xbf597fc7U, 0xc6e00bf3U, 0xd5a79147U, 0x06ca6351U, 0x14292967U,
    0x27b70a85U, 0x2e1b2138U, 0x4d2c6dfcU, 0x53380d13U, 0x650a7354U, 0x766a0abbU, 0x81c2c92eU, 0x92722c85U,
    0xa2bfe8a1U, 0xa81a664bU, 0xc24b8b70U, 0xc76c51a3U, 0xd192e819U, 0xd6990624U, 0xf40e3585U, 0x106aa070U,
    0x19a4c116U, 0x1e376c08U, 0x2748774cU, 0x34b0bcb5U, 0x391c0cb3U, 0x4ed8aa4aU, 0x5b9cca4fU, 0x682e6ff3U,
    0x748f82eeU, 0x78a5636fU, 0x84c87814U, 0x8cc70208U, 0x90befffaU, 0xa4506cebU, 0xbef9a3f7U, 0xc67178f2U,
};

static uint32_t rotate_right(uint32_t word, unsigned bits)
{
    return (word >> bits) | (word << (32U - bits));
}

static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

    for (unsigned i = 0; i < 16; i++)
        w[i] = load_u32(block + 4U * i);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ (w[i - 15] >> 3);
        uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    for (unsigned i = 0; i < 64; i++) {
        uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t choice = (e & f) ^ (~e & g);
        uint32_t t1 = h + s1 + choice + ROUND_CONSTANTS[i] + w[i];
        uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        uint32_t t2 = s0 + majority;

        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void sha256_start(struct sha256 *hash)
{
    static const uint32_t initial[8] = {
        0x6a09e667U, 0xbb67ae85U, 0x3c6ef372U, 0xa54ff53aU, 0x510e527fU, 0x9b05688cU, 0x1f83d9abU, 0x5be0cd19U,
    };

    memcpy(hash->state, initial, sizeof initial);
    memset(hash->block, 0, sizeof hash->block);
    hash->total_bytes = 0;
    hash->block_bytes = 0;
}

void sha256_add(struct sha256 *hash, const uint8_t *bytes, size_t count)
{
    hash->total_bytes += count;
    if (hash->block_bytes > 0) {
        size_t room = sizeof hash->block - hash->block_bytes;
        size_t take = count < room ? count : room;

        memcpy(hash->block + hash->block_bytes, bytes, take);
        hash->block_bytes += take;
        bytes += take;
        count -= take;
        if (hash->block_bytes < sizeof hash->block)
            return;
        compress(hash->state, hash->block);
        hash->block_bytes = 0;
    }
    while (count >= sizeof hash->block) {
        compress(hash->state, bytes);
        bytes += sizeof hash->block;
        count -= sizeof hash->block;
    }
    memcpy(hash->block, bytes, count);
    hash->block_bytes = count;
}

void sha256_digest(const struct sha256 *hash, uint8_t digest[SHA256_BYTES])
{
    static const uint8_t padding[64] = {0x80};
    struct sha256 last = *hash;
    uint8_t bit_length[8];
    size_t used = last.block_bytes;
    size_t pad = used < 56 ? 56 - used : 120 - used;

    store_u64(bit_length, last.total_bytes * 8U);
    sha256_add(&last, padding, pad);
    sha256_add(&last, bit_length, sizeof bit_length);
    for (unsigned i = 0; i < 8; i++)
        store_u32(digest + 4U * i, last.state[i]);
}
