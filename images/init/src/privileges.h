/* Giving up root for good. */
#ifndef BAILIFF_PRIVILEGES_H
#define BAILIFF_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Drops the bounding set, supplementary groups, identity, every capability set and the right to gain any by execve,
 * then proves it: true only if this process is uid:gid, has no capability and cannot become root again. errno is
 * set otherwise. The ids must not be 0 or -1.
 */
bool privileges_give_up(uid_t uid, gid_t gid);

#endif
