/* What the container's cgroup counted, for version 2 and version 1. */
#ifndef BAILIFF_CGROUP_H
#define BAILIFF_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* Each is UNKNOWN_U64 (report.h) where the kernel or the runtime does not say. */
uint64_t cgroup_oom_kills(void);
uint64_t cgroup_cpu_us(void);
uint64_t cgroup_peak_memory_bytes(void);

/* Finds "key N" at the start of a line; an empty key takes the number that begins the text. */
bool cgroup_find_number(const char *text, const char *key, uint64_t *value);

#endif
