#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Capabilities are at most 64 bits wide in the kernel's own interface. */
#define CAPABILITY_BITS 64UL

static bool drop_bounding_set(void)
{
    for (unsigned long capability = 0; capability < CAPABILITY_BITS; capability++) {
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
            continue;
        /* EINVAL is the end of what this kernel knows, but never before the first. */
        return errno == EINVAL && capability > 0;
    }
    return true;
}

static bool clear_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];

    memset(none, 0, sizeof none);
    /* EINVAL: a kernel without ambient capabilities has none to clear. */
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL)
        return false;
    return syscall(SYS_capset, &header, none) == 0;
}

static bool has_no_capability(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3];
    bool any = false;

    memset(held, 0xff, sizeof held);
    if (syscall(SYS_capget, &header, held) != 0)
        return false;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        any = any || (held[i].effective | held[i].permitted | held[i].inheritable) != 0;
    for (unsigned long capability = 0; capability < CAPABILITY_BITS; capability++)
        any = any || prctl(PR_CAPBSET_READ, capability, 0, 0, 0) > 0;
    return !any;
}

static bool is_only(uid_t uid, gid_t gid)
{
    uid_t real_uid, effective_uid, saved_uid;
    gid_t real_gid, effective_gid, saved_gid;

    return getresuid(&real_uid, &effective_uid, &saved_uid) == 0 && getresgid(&real_gid, &effective_gid, &saved_gid) == 0 &&
           real_uid == uid && effective_uid == uid && saved_uid == uid && real_gid == gid && effective_gid == gid &&
           saved_gid == gid && getgroups(0, NULL) == 0;
}

static bool can_become_root(void)
{
    return setresuid(0, 0, 0) == 0 || setresgid(0, 0, 0) == 0 || setgroups(0, NULL) == 0;
}

bool privileges_give_up(uid_t uid, gid_t gid)
{
    if (uid == 0 || gid == 0 || uid == (uid_t)-1 || gid == (gid_t)-1) {
        errno = EPERM;
        return false;
    }
    if (!drop_bounding_set() || setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0 ||
        !clear_capabilities() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    if (can_become_root() || !is_only(uid, gid) || !has_no_capability() ||
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
        errno = EPERM;
        return false;
    }
    return true;
}
