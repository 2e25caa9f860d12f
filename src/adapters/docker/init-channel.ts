import type { Duplex } from "node:stream";
import type { InitReport } from "../../domain/outcome.js";
import { createInitFrameDecoder, encodePing } from "./init-frames.js";
import { createMultiplexParser } from "./multiplex-parser.js";
import { ProtocolViolation } from "./protocol-violation.js";

/** How much of what a container writes besides frames is kept for the log. */
const STRAY_MAX_BYTES = 512;

/** Who hears what bailiff-init sends once a request is out. Throwing ProtocolViolation closes the channel. */
export interface ChannelListener {
  stdout(slice: Uint8Array): void;
  stderr(slice: Uint8Array): void;
  report(report: InitReport): void;
  /** The channel ended before a report; `violation` is the reason when it was a broken protocol. */
  closed(violation: string | null): void;
}

/** The attach stream of one container, from READY to REPORT. Always drained. */
export interface InitChannel {
  /** Resolves at READY; rejects with ProtocolViolation when the stream ends or breaks before. */
  readonly ready: Promise<void>;
  isOpen(): boolean;
  /** Hands the channel to the one command it serves. */
  listen(listener: ChannelListener): void;
  /** Sends a request or a cancel; a report may follow. */
  send(frame: Uint8Array): void;
  /** Asks whether bailiff-init still waits for its request; resolves at its answer, rejects where the channel ends first. */
  ping(): Promise<void>;
  /** Whole bytes received so far, to see whether more is still coming in. */
  receivedBytes(): number;
  /** What the container wrote outside the protocol, such as an OCI runtime's complaint; for the log only. */
  strayText(): string;
  /** Drops the connection: an init that still waits or runs ends by it. Idempotent. */
  close(): void;
}

/** Wires the parsers to the hijacked connection. It takes over the socket and every event of it. */
export function createInitChannel(socket: Duplex): InitChannel {
  let open = true;
  let reported = false;
  let listener: ChannelListener | null = null;
  let received = 0;
  const stray: Uint8Array[] = [];
  let strayBytes = 0;
  let settleReady: { resolve: () => void; reject: (why: ProtocolViolation) => void } | null = null;
  const pings: { resolve: () => void; reject: (why: ProtocolViolation) => void }[] = [];
  const ready = new Promise<void>((resolve, reject) => {
    settleReady = { resolve, reject };
  });
  // A channel that nobody waits on may break too.
  ready.catch(() => {});

  const end = (violation: string | null) => {
    if (!open) return;
    open = false;
    settleReady?.reject(
      new ProtocolViolation(violation ?? "the attach stream ended before the container was ready"),
    );
    for (const ping of pings.splice(0))
      ping.reject(new ProtocolViolation("the attach stream ended before the answer"));
    socket.destroy();
    if (!reported) listener?.closed(violation);
  };

  const decoder = createInitFrameDecoder({
    ready: () => settleReady?.resolve(),
    started: () => {},
    pong: () => pings.shift()?.resolve(),
    stdout: (slice) => listener?.stdout(slice),
    stderr: (slice) => listener?.stderr(slice),
    report: (report) => {
      reported = true;
      listener?.report(report);
    },
  });
  const parser = createMultiplexParser({
    stdout: (slice) => decoder.push(slice),
    stderr: (slice) => {
      if (strayBytes >= STRAY_MAX_BYTES) return;
      const kept = Uint8Array.from(slice.subarray(0, STRAY_MAX_BYTES - strayBytes));
      stray.push(kept);
      strayBytes += kept.length;
    },
  });

  socket.on("data", (chunk: Buffer) => {
    if (!open) return;
    received += chunk.length;
    try {
      parser.push(chunk);
    } catch (error) {
      if (!(error instanceof ProtocolViolation)) throw error;
      end(error.message);
    }
  });
  socket.on("error", () => end(null));
  socket.on("end", () => end(null));
  socket.on("close", () => end(null));

  return {
    ready,
    isOpen: () => open,
    listen(next) {
      listener = next;
      if (!open) next.closed(null);
    },
    send(frame) {
      if (!open) return;
      decoder.expectReport();
      socket.write(frame);
    },
    ping() {
      if (!open) return Promise.reject(new ProtocolViolation("the attach stream has ended"));
      return new Promise((resolve, reject) => {
        pings.push({ resolve, reject });
        decoder.expectPong();
        socket.write(encodePing());
      });
    },
    receivedBytes: () => received,
    strayText: () => Buffer.concat(stray).toString("utf8"),
    close: () => end(null),
  };
}
