#include "report.h"

#include <string.h>

#include "bytes.h"

void report_start(struct report *report, enum report_kind kind)
{
    struct sha256 nothing;

    memset(report, 0, sizeof *report);
    report->kind = kind;
    report->exit_code = -1;
    report->cpu_us = UNKNOWN_U64;
    report->peak_memory_bytes = UNKNOWN_U64;
    report->message = "";
    sha256_start(&nothing);
    sha256_digest(&nothing, report->stdout_sha256);
    sha256_digest(&nothing, report->stderr_sha256);
}

size_t report_encode(const struct report *report, uint8_t bytes[REPORT_FIXED_BYTES + REPORT_MESSAGE_MAX_BYTES])
{
    size_t message_bytes = strnlen(report->message, REPORT_MESSAGE_MAX_BYTES);

    bytes[0] = (uint8_t)report->kind;
    bytes[1] = (uint8_t)report->stage;
    bytes[2] = (uint8_t)report->stream;
    bytes[3] = 0;
    store_u32(bytes + 4, (uint32_t)report->error_number);
    store_u32(bytes + 8, (uint32_t)report->exit_code);
    store_u32(bytes + 12, (uint32_t)report->signal);
    store_u64(bytes + 16, report->oom_kills);
    store_u64(bytes + 24, report->stdout_bytes);
    store_u64(bytes + 32, report->stderr_bytes);
    memcpy(bytes + 40, report->stdout_sha256, SHA256_BYTES);
    memcpy(bytes + 72, report->stderr_sha256, SHA256_BYTES);
    store_u64(bytes + 104, report->wall_us);
    store_u64(bytes + 112, report->cpu_us);
    store_u64(bytes + 120, report->peak_memory_bytes);
    store_u32(bytes + 128, (uint32_t)message_bytes);
    memcpy(bytes + REPORT_FIXED_BYTES, report->message, message_bytes);
    return REPORT_FIXED_BYTES + message_bytes;
}

void report_put(const struct report *report, struct outbox *outbox)
{
    uint8_t bytes[REPORT_FIXED_BYTES + REPORT_MESSAGE_MAX_BYTES];
    size_t length = report_encode(report, bytes);

    if (!outbox_put(outbox, FRAME_REPORT, bytes, (uint32_t)length))
        outbox->broken = true;
}
