import { ProtocolViolation } from "./protocol-violation.js";

const HEADER_BYTES = 8;

/** Where the bytes of the two streams go. A slice is only valid during the call: it belongs to the socket's buffer. */
export interface MultiplexSink {
  stdout(slice: Uint8Array): void;
  stderr(slice: Uint8Array): void;
}

/** Takes an attach stream apart, however its bytes are cut. */
export interface MultiplexParser {
  /** @throws ProtocolViolation on a header the Engine can't have sent; the parser is unusable then. */
  push(chunk: Uint8Array): void;
  /** Whether the stream may end here: not inside a frame. */
  atBoundary(): boolean;
}

/**
 * Parser of the Engine's multiplexed stream: an 8-byte header (type, three zero bytes, big-endian length), then the
 * payload. Payload is passed on as it comes, so a frame of any length costs no memory.
 */
export function createMultiplexParser(sink: MultiplexSink): MultiplexParser {
  const header = new Uint8Array(HEADER_BYTES);
  const headerView = new DataView(header.buffer);
  let headerFilled = 0;
  let payloadLeft = 0;
  let toStderr = false;

  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length) {
        if (payloadLeft > 0) {
          const end = Math.min(chunk.length, at + payloadLeft);
          const slice = chunk.subarray(at, end);
          payloadLeft -= slice.length;
          at = end;
          if (toStderr) sink.stderr(slice);
          else sink.stdout(slice);
          continue;
        }
        const take = Math.min(HEADER_BYTES - headerFilled, chunk.length - at);
        header.set(chunk.subarray(at, at + take), headerFilled);
        headerFilled += take;
        at += take;
        if (headerFilled < HEADER_BYTES) return;
        headerFilled = 0;
        const type = header[0] ?? 0xff;
        // 0 is "stdin" in the Engine's table; it is what some versions call stdout before a process has written.
        if (type > 2) throw new ProtocolViolation("the attach stream has an unknown frame type");
        if (header[1] !== 0 || header[2] !== 0 || header[3] !== 0) {
          throw new ProtocolViolation("the attach stream has a malformed frame header");
        }
        toStderr = type === 2;
        payloadLeft = headerView.getUint32(4);
      }
    },
    atBoundary() {
      return headerFilled === 0 && payloadLeft === 0;
    },
  };
}
