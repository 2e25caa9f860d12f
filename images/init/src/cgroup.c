#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "report.h"

#define V2 "/sys/fs/cgroup/"
#define V1_MEMORY "/sys/fs/cgroup/memory/"

static bool parse_number(const char *text, uint64_t *value)
{
    uint64_t number = 0;

    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');

        if (number > (UINT64_MAX - digit) / 10U)
            return false;
        number = number * 10U + digit;
    }
    *value = number;
    return true;
}

bool cgroup_find_number(const char *text, const char *key, uint64_t *value)
{
    size_t key_bytes = strlen(key);

    if (key_bytes == 0)
        return parse_number(text, value);
    while (text != NULL && *text != '\0') {
        if (strncmp(text, key, key_bytes) == 0 && text[key_bytes] == ' ')
            return parse_number(text + key_bytes + 1, value);
        text = strchr(text, '\n');
        if (text != NULL)
            text++;
    }
    return false;
}

static bool read_number(const char *path, const char *key, uint64_t *value)
{
    char text[4096];
    size_t length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return false;
    while (length < sizeof text - 1) {
        ssize_t count = read(fd, text + length, sizeof text - 1 - length);

        if (count > 0)
            length += (size_t)count;
        else if (count == 0 || errno != EINTR)
            break;
    }
    close(fd);
    text[length] = '\0';
    return cgroup_find_number(text, key, value);
}

uint64_t cgroup_oom_kills(void)
{
    uint64_t value;

    if (read_number(V2 "memory.events", "oom_kill", &value))
        return value;
    if (read_number(V1_MEMORY "memory.oom_control", "oom_kill", &value))
        return value;
    return UNKNOWN_U64;
}

uint64_t cgroup_cpu_us(void)
{
    uint64_t value;

    /* Only a cgroup below the root has a type; the root's counter is the machine's, not the container's. */
    if (access(V2 "cgroup.type", R_OK) == 0 && read_number(V2 "cpu.stat", "usage_usec", &value))
        return value;
    if (read_number("/sys/fs/cgroup/cpuacct/cpuacct.usage", "", &value))
        return value / 1000U;
    if (read_number("/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage", "", &value))
        return value / 1000U;
    return UNKNOWN_U64;
}

uint64_t cgroup_peak_memory_bytes(void)
{
    uint64_t value;

    if (read_number(V2 "memory.peak", "", &value))
        return value;
    if (read_number(V1_MEMORY "memory.max_usage_in_bytes", "", &value))
        return value;
    return UNKNOWN_U64;
}
