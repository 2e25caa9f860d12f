/*
 * Takes from this process, and from all that come of it, the calls by which the owner of a file changes its attributes: a file
 * system counts a file against its project, and who may change that leaves a quota. Needs no capability, but no-new-privileges.
 */
#ifndef BAILIFF_ATTRIBUTES_H
#define BAILIFF_ATTRIBUTES_H

#include <stdbool.h>

/* False with errno where the kernel does not take the filter. */
bool attributes_freeze(void);

#endif
