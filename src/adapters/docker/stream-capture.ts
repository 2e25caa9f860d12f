import { createHash } from "node:crypto";
import type { CapturedStream } from "../../domain/output.js";
import { ProtocolViolation } from "./protocol-violation.js";

const FIRST_BLOCK_BYTES = 1024;
const LARGEST_BLOCK_BYTES = 256 * 1024;

/** One stream of one command while it arrives. Holds at most its capture cap. */
export interface StreamCapture {
  /**
   * Takes a copy of the slice.
   * @throws ProtocolViolation when more arrives than was asked for: the source does not hold its caps.
   */
  write(slice: Uint8Array): void;
  /** What had arrived; nothing is known about the whole. */
  partial(): CapturedStream;
  /**
   * Holds what arrived against the report.
   * @returns the stream, or the reason (a constant text) why it can't be vouched for.
   */
  settle(seenBytes: number, sha256: string): CapturedStream | string;
}

/**
 * Capture of at most `captureBytes`. Bytes are copied into blocks that grow as they fill: a silent command costs
 * nothing, and a small piece does not keep the socket's whole buffer alive.
 */
export function createStreamCapture(captureBytes: number): StreamCapture {
  const full: Uint8Array[] = [];
  let block: Uint8Array | null = null;
  let blockFilled = 0;
  let received = 0;

  const joined = (): Uint8Array => {
    const bytes = new Uint8Array(received);
    let at = 0;
    for (const part of full) {
      bytes.set(part, at);
      at += part.length;
    }
    if (block !== null) bytes.set(block.subarray(0, blockFilled), at);
    return bytes;
  };

  return {
    write(slice) {
      if (received + slice.length > captureBytes) {
        throw new ProtocolViolation("bailiff-init sent more output than it was asked for");
      }
      let at = 0;
      while (at < slice.length) {
        if (block === null || blockFilled === block.length) {
          if (block !== null) full.push(block);
          const size = Math.min(
            LARGEST_BLOCK_BYTES,
            Math.max(FIRST_BLOCK_BYTES, received + slice.length - at),
          );
          block = new Uint8Array(Math.min(size, captureBytes - received));
          blockFilled = 0;
        }
        const part = slice.subarray(at, at + Math.min(slice.length - at, block.length - blockFilled));
        block.set(part, blockFilled);
        blockFilled += part.length;
        at += part.length;
        received += part.length;
      }
    },
    partial() {
      return { bytes: joined(), seenBytes: received, sha256: null };
    },
    settle(seenBytes, sha256) {
      if (received !== Math.min(seenBytes, captureBytes)) return "output is incomplete";
      const bytes = joined();
      // Only where every byte arrived can the digest be checked here; beyond the cap it is the source's word.
      if (received === seenBytes && createHash("sha256").update(bytes).digest("hex") !== sha256) {
        return "output does not match its digest";
      }
      return { bytes, seenBytes, sha256 };
    },
  };
}
