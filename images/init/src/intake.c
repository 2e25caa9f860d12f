#include "intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void intake_start(struct intake *intake)
{
    memset(intake, 0, sizeof *intake);
}

uint8_t *intake_space(struct intake *intake, size_t *wanted)
{
    if (intake->header_bytes < FRAME_HEADER_BYTES) {
        *wanted = FRAME_HEADER_BYTES - intake->header_bytes;
        return intake->header + intake->header_bytes;
    }
    *wanted = intake->length - intake->payload_bytes;
    return intake->payload + intake->payload_bytes;
}

static enum intake_state bad(struct intake *intake, const char *problem)
{
    intake->problem = problem;
    return INTAKE_BAD;
}

static enum intake_state header_complete(struct intake *intake)
{
    struct frame_header header;

    if (!frame_header_decode(intake->header, &header))
        return bad(intake, "frame header is malformed");
    if (header.type == FRAME_CANCEL) {
        if (header.length != 0)
            return bad(intake, "cancel frame has a payload");
        intake->header_bytes = 0;
        return INTAKE_CANCEL;
    }
    if (header.type == FRAME_PING && !intake->request_taken) {
        if (header.length != 0)
            return bad(intake, "ping frame has a payload");
        intake->header_bytes = 0;
        return INTAKE_PING;
    }
    if (header.type != FRAME_REQUEST && header.type != FRAME_PING)
        return bad(intake, "unknown frame type");
    if (intake->request_taken)
        return bad(intake, "unexpected bytes after the request");
    if (header.length == 0)
        return bad(intake, "request is truncated");
    if (header.length > REQUEST_MAX_BYTES)
        return bad(intake, "request is too large");
    intake->length = header.length;
    intake->payload = malloc(intake->length + 1U);
    if (intake->payload == NULL)
        return bad(intake, "no memory for the request");
    return INTAKE_MORE;
}

enum intake_state intake_advance(struct intake *intake, size_t count)
{
    if (intake->header_bytes < FRAME_HEADER_BYTES) {
        intake->header_bytes += count;
        return intake->header_bytes == FRAME_HEADER_BYTES ? header_complete(intake) : INTAKE_MORE;
    }
    intake->payload_bytes += count;
    if (intake->payload_bytes < intake->length)
        return INTAKE_MORE;
    intake->request_taken = true;
    intake->header_bytes = 0;
    return INTAKE_REQUEST;
}

enum intake_state intake_read(struct intake *intake, int fd)
{
    enum intake_state state = INTAKE_MORE;

    while (state == INTAKE_MORE) {
        size_t wanted;
        uint8_t *space = intake_space(intake, &wanted);
        ssize_t count = read(fd, space, wanted);

        if (count > 0)
            state = intake_advance(intake, (size_t)count);
        else if (count < 0 && errno == EINTR)
            continue;
        else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return INTAKE_MORE;
        else
            return intake->header_bytes == 0 ? INTAKE_EOF : INTAKE_TRUNCATED;
    }
    return state;
}
