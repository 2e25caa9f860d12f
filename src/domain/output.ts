/** One stream as it was captured: the prefix that was kept and what is known about the whole. */
export interface CapturedStream {
  /** The captured prefix, at most `stream_capture_bytes`. */
  readonly bytes: Uint8Array;
  /** Bytes seen in all, also those counted and dropped. */
  readonly seenBytes: number;
  /** Lower-case hexadecimal over all bytes seen; null when only a prefix was ever seen. */
  readonly sha256: string | null;
}

/** The layers that can shorten a stream without ending its command. */
export type TruncationLayer = "capture_bytes" | "service_chars" | "request_chars";

/** One stream as the caller sees it. */
export interface NormalizedStream {
  readonly text: string;
  readonly truncated: boolean;
  /** Every layer that cut it, in the order in which they apply. */
  readonly truncatedBy: readonly TruncationLayer[];
  readonly utf8Replaced: boolean;
  readonly seenBytes: number;
  readonly sha256: string | null;
}

/** The prefix of at most `maxChars` code points; never half a surrogate pair. */
export function capCodePoints(text: string, maxChars: number): { text: string; cut: boolean } {
  if (text.length <= maxChars) return { text, cut: false };
  let chars = 0;
  let index = 0;
  while (index < text.length) {
    if (chars === maxChars) return { text: text.slice(0, index), cut: true };
    const unit = text.charCodeAt(index);
    index += unit >= 0xd800 && unit <= 0xdbff ? 2 : 1;
    chars += 1;
  }
  return { text, cut: false };
}

/** How many trailing bytes of a cut buffer belong to a character that the cut left unfinished (0 to 3). */
function unfinishedTail(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const need = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return need > back ? back : 0;
  }
  return 0;
}

/**
 * Decode and cap one stream: UTF-8 with replacement, the service's cap, then the request's.
 * A character that the capture cap cut in half is dropped, not replaced: the program did not write it so.
 */
export function normalizeStream(
  stream: CapturedStream,
  serviceChars: number,
  requestChars: number,
): NormalizedStream {
  const cutByCapture = stream.seenBytes > stream.bytes.length;
  const whole = cutByCapture
    ? stream.bytes.subarray(0, stream.bytes.length - unfinishedTail(stream.bytes))
    : stream.bytes;
  const decoded = new TextDecoder("utf-8", { ignoreBOM: true }).decode(whole);
  let utf8Replaced = false;
  if (decoded.includes("\uFFFD")) {
    try {
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(whole);
    } catch {
      utf8Replaced = true;
    }
  }
  const byService = capCodePoints(decoded, serviceChars);
  const byRequest = capCodePoints(byService.text, requestChars);
  const truncatedBy: TruncationLayer[] = [];
  if (cutByCapture) truncatedBy.push("capture_bytes");
  if (byService.cut) truncatedBy.push("service_chars");
  if (byRequest.cut) truncatedBy.push("request_chars");
  return {
    text: byRequest.text,
    truncated: truncatedBy.length > 0,
    truncatedBy,
    utf8Replaced,
    seenBytes: stream.seenBytes,
    sha256: stream.sha256,
  };
}
