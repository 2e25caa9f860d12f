#include "sha256.h"

#include <string.h>

#include "check.h"

static void expect_digest(const struct sha256 *hash, const char *expected)
{
    uint8_t digest[SHA256_BYTES];
    char text[2 * SHA256_BYTES + 1];

    sha256_digest(hash, digest);
    for (size_t i = 0; i < SHA256_BYTES; i++)
        CHECK(snprintf(text + 2 * i, 3, "%02x", digest[i]) == 2);
    CHECK(strcmp(text, expected) == 0);
}

static void expect_text(const char *message, const char *expected)
{
    struct sha256 hash;

    sha256_start(&hash);
    sha256_add(&hash, (const uint8_t *)message, strlen(message));
    expect_digest(&hash, expected);
}

static void the_standard_vectors_hold(void)
{
    struct sha256 hash;

    expect_text("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_text("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    sha256_start(&hash);
    for (unsigned i = 0; i < 1000000; i++)
        sha256_add(&hash, (const uint8_t *)"a", 1);
    expect_digest(&hash, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void pieces_do_not_matter_at_any_length(void)
{
    uint8_t message[260];

    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (uint8_t)(i * 7U);
    for (size_t length = 0; length <= sizeof message; length++) {
        uint8_t whole_digest[SHA256_BYTES];
        struct sha256 whole;

        sha256_start(&whole);
        sha256_add(&whole, message, length);
        sha256_digest(&whole, whole_digest);
        for (size_t cut = 0; cut <= length; cut += 13) {
            uint8_t digest[SHA256_BYTES];
            struct sha256 pieces;

            sha256_start(&pieces);
            sha256_add(&pieces, message, cut);
            sha256_digest(&pieces, digest);
            sha256_add(&pieces, message + cut, length - cut);
            sha256_digest(&pieces, digest);
            CHECK(memcmp(digest, whole_digest, sizeof digest) == 0);
        }
    }
}

int main(void)
{
    the_standard_vectors_hold();
    pieces_do_not_matter_at_any_length();
    return 0;
}
