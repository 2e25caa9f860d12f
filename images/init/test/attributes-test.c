#include "attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define FILE_SETATTR 469L
#define HIGH_HALF (1UL << 32)

static bool is_denied(long result)
{
    return result == -1 && errno == EPERM;
}

static void changes_are_denied(int fd)
{
    struct fsxattr attributes = {.fsx_projid = 0};
    long flags = 0;

    CHECK(is_denied(ioctl(fd, FS_IOC_FSSETXATTR, &attributes)));
    CHECK(is_denied(ioctl(fd, FS_IOC_SETFLAGS, &flags)));
    CHECK(is_denied(ioctl(fd, FS_IOC32_SETFLAGS, &flags)));
    CHECK(is_denied(syscall(SYS_ioctl, fd, HIGH_HALF | FS_IOC_FSSETXATTR, &attributes)));
    CHECK(is_denied(syscall(FILE_SETATTR, fd, "", &attributes, sizeof attributes, 0)));
}

static void everything_else_goes_on(int fd)
{
    int available = -1;
    int ends[2];

    CHECK(!is_denied(ioctl(fd, FS_IOC_GETFLAGS, &available)));
    CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    CHECK(ioctl(ends[0], FIONREAD, &available) == 0 && available == 1);
    CHECK(ioctl(ends[0], FIOCLEX) == 0);
    CHECK(syscall(SYS_getppid) == getppid());
}

#ifdef __x86_64__
/*
 * The other two ABIs that a 64-bit program can call by itself. A child makes the call: a kernel without the i386 ABI answers
 * with a signal.
 */
static bool i386_denies(long number, long first, unsigned long second)
{
    int status = 0;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        int32_t result;

        signal(SIGSEGV, SIG_DFL);
        __asm__ volatile("int $0x80"
                         : "=a"(result)
                         : "a"(number), "b"(first), "c"(second), "d"(0L), "S"(0L), "D"(0L)
                         : "memory", "r8", "r9", "r10", "r11");
        _exit(result == -EPERM ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void changes_are_denied_to_other_abis(int fd)
{
    CHECK(i386_denies(54, fd, FS_IOC_FSSETXATTR));
    CHECK(i386_denies(54, fd, FS_IOC32_SETFLAGS));
    CHECK(i386_denies(FILE_SETATTR, fd, 0));
    for (long number = 16; number <= 514; number += 514 - 16) {
        CHECK(is_denied(syscall(0x40000000L | number, fd, FS_IOC_FSSETXATTR, 0)));
        CHECK(is_denied(syscall(0x40000000L | number, fd, FS_IOC32_SETFLAGS, 0)));
    }
    CHECK(is_denied(syscall(0x40000000L | FILE_SETATTR, fd, "", 0, 0, 0)));
}
#endif

int main(void)
{
    int fd = open(".", O_RDONLY | O_DIRECTORY);

    CHECK(fd >= 0);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(attributes_freeze());
    changes_are_denied(fd);
    everything_else_goes_on(fd);
#ifdef __x86_64__
    changes_are_denied_to_other_abis(fd);
#endif
    return 0;
}
