#include "report.h"

#include <string.h>

#include "bytes.h"
#include "cgroup.h"
#include "check.h"

static void the_layout_is_the_protocol(void)
{
    static uint8_t bytes[REPORT_FIXED_BYTES + REPORT_MESSAGE_MAX_BYTES];
    struct report report;

    report_start(&report, KIND_OUTPUT_LIMIT);
    report.stage = STAGE_EXEC;
    report.stream = STREAM_STDERR;
    report.error_number = 13;
    report.signal = 9;
    report.oom_kills = 1;
    report.stdout_bytes = 2;
    report.stderr_bytes = 0x0102030405060708U;
    memset(report.stdout_sha256, 0xaa, SHA256_BYTES);
    memset(report.stderr_sha256, 0xbb, SHA256_BYTES);
    report.wall_us = 3;
    report.cpu_us = 4;
    report.message = "why";
    CHECK(report_encode(&report, bytes) == 135);
    CHECK(bytes[0] == 5 && bytes[1] == 2 && bytes[2] == 2 && bytes[3] == 0);
    CHECK(load_u32(bytes + 4) == 13 && load_u32(bytes + 8) == UINT32_MAX && load_u32(bytes + 12) == 9);
    CHECK(load_u64(bytes + 16) == 1 && load_u64(bytes + 24) == 2 && load_u64(bytes + 32) == 0x0102030405060708U);
    CHECK(bytes[40] == 0xaa && bytes[71] == 0xaa && bytes[72] == 0xbb && bytes[103] == 0xbb);
    CHECK(load_u64(bytes + 104) == 3 && load_u64(bytes + 112) == 4 && load_u64(bytes + 120) == UNKNOWN_U64);
    CHECK(load_u32(bytes + 128) == 3 && memcmp(bytes + 132, "why", 3) == 0);
}

static void counters_are_found_by_whole_name(void)
{
    uint64_t value = 7;

    CHECK(cgroup_find_number("low 0\nhigh 0\noom 3\noom_kill 2\noom_group_kill 9\n", "oom_kill", &value) && value == 2);
    CHECK(cgroup_find_number("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n", "oom_kill", &value) && value == 5);
    CHECK(cgroup_find_number("18446744073709551615\n", "", &value) && value == UINT64_MAX);
    CHECK(!cgroup_find_number("18446744073709551616\n", "", &value));
    CHECK(!cgroup_find_number("oom_kill_disable 0\nunder_oom 0\n", "oom_kill", &value));
    CHECK(!cgroup_find_number("oom_kill x\n", "oom_kill", &value));
    CHECK(!cgroup_find_number("", "", &value) && !cgroup_find_number("max\n", "", &value));
}

int main(void)
{
    the_layout_is_the_protocol();
    counters_are_found_by_whole_name();
    return 0;
}
