#include "monotonic.h"

#include <stdlib.h>
#include <time.h>

/* poll(2) takes an int; a longer wait simply wakes up once in between. */
#define LONGEST_POLL_MS 1000000

uint64_t monotonic_us(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        abort();
    return (uint64_t)now.tv_sec * 1000000U + (uint64_t)now.tv_nsec / 1000U;
}

uint64_t deadline_after_ms(uint64_t now_us, uint64_t delay_ms)
{
    if (delay_ms >= (DEADLINE_NEVER - now_us) / 1000U)
        return DEADLINE_NEVER;
    return now_us + delay_ms * 1000U;
}

int poll_timeout_ms(uint64_t now_us, uint64_t deadline_us)
{
    uint64_t left_ms;

    if (deadline_us <= now_us)
        return 0;
    left_ms = (deadline_us - now_us) / 1000U + 1U;
    return left_ms > LONGEST_POLL_MS ? LONGEST_POLL_MS : (int)left_ms;
}
