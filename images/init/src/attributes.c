#include "attributes.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__) || defined(__arm__)

/* The 32-bit form, which a 64-bit kernel also takes. */
#define SETFLAGS_32 _IOW('f', 2, int)
#define SETFLAGS_64 _IOW('f', 2, int64_t)

/* Since Linux 6.17, under the same number for every architecture here. */
#define FILE_SETATTR 469U

#define IOCTL_X86_64 16U
#define IOCTL_I386 54U
#define IOCTL_ARM 54U
#define IOCTL_AARCH64 29U

/* x32 calls come as x86-64 ones with this bit set; its ioctl has a number of its own. */
#define X32_BIT 0x40000000U
#define IOCTL_X32 514U

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (uint32_t)(action))

/* The kernel reads a request's number from the low half of its argument alone. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the low half of an argument is looked for where little-endian machines have it"
#endif

bool attributes_freeze(void)
{
    struct sock_filter code[] = {
        LOAD(arch),
        IF_EQUAL(AUDIT_ARCH_X86_64, 4, 0),
        IF_EQUAL(AUDIT_ARCH_I386, 7, 0),
        IF_EQUAL(AUDIT_ARCH_AARCH64, 8, 0),
        IF_EQUAL(AUDIT_ARCH_ARM, 9, 0),
        /* An ABI whose numbers are not known here would be a way round. */
        ANSWER(SECCOMP_RET_ERRNO | ENOSYS),

        /* x86-64 and x32 */
        LOAD(nr),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~X32_BIT),
        IF_EQUAL(IOCTL_X86_64, 8, 0),
        IF_EQUAL(IOCTL_X32, 7, 6),
        /* i386 */
        LOAD(nr),
        IF_EQUAL(IOCTL_I386, 5, 4),
        /* 64-bit ARM */
        LOAD(nr),
        IF_EQUAL(IOCTL_AARCH64, 3, 2),
        /* 32-bit ARM */
        LOAD(nr),
        IF_EQUAL(IOCTL_ARM, 1, 0),

        IF_EQUAL(FILE_SETATTR, 4, 5),

        LOAD(args[1]),
        IF_EQUAL(FS_IOC_FSSETXATTR, 2, 0),
        IF_EQUAL(SETFLAGS_64, 1, 0),
        IF_EQUAL(SETFLAGS_32, 0, 1),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};

    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

#else
#error "the number of ioctl on this architecture has to be added to the filter"
#endif
