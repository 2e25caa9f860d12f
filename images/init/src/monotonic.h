/* Time on CLOCK_MONOTONIC: a step of the wall clock must neither end a command nor keep it alive. */
#ifndef BAILIFF_MONOTONIC_H
#define BAILIFF_MONOTONIC_H

#include <stdint.h>

#define DEADLINE_NEVER UINT64_MAX

/* Microseconds since an arbitrary point; never decreases. */
uint64_t monotonic_us(void);

/* now_us + delay_ms, saturating at DEADLINE_NEVER instead of wrapping into the past. */
uint64_t deadline_after_ms(uint64_t now_us, uint64_t delay_ms);

/* The timeout for poll(2) until deadline_us: rounded up, so that poll never wakes just before it. */
int poll_timeout_ms(uint64_t now_us, uint64_t deadline_us);

#endif
