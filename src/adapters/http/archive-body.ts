import type { FastifyReply, FastifyRequest } from "fastify";
import type { ArchiveSource } from "../../app/services.js";
import { BailiffError } from "../../domain/errors.js";
import type { HttpScope } from "./http-deps.js";

/** The media type of archives. */
export const TAR = "application/x-tar";

/** A connection that carries an archive and on which nothing moves for this long is closed. */
const IDLE_LIMIT_MS = 60_000;
/** For a client that still sends when its archive was refused, to read the answer. */
const LINGER_MS = 10_000;

/** The connections on which archives come in. Their length in time is bounded by the transfer's own terms. */
export interface ArchiveUploads {
  /** Whether a connection may take longer for its request than others. */
  has(socket: object): boolean;
  /** The request's body as a source. */
  sourceOf(request: FastifyRequest): ArchiveSource;
  /** Reads on for a while after a refusal: a client that is cut off while it sends would not see the answer. */
  linger(request: FastifyRequest): void;
}

/** Builds an empty registry of uploads. */
export function createArchiveUploads(): ArchiveUploads {
  const sockets = new WeakSet<object>();
  return {
    has: (socket) => sockets.has(socket),
    sourceOf(request) {
      const { raw } = request;
      sockets.add(raw.socket);
      const length = request.headers["content-length"];
      return {
        declaredBytes: length === undefined ? null : Number(length),
        open(signal) {
          const cut = () => raw.destroy();
          if (signal.aborted) cut();
          signal.addEventListener("abort", cut, { once: true });
          // What refuses an archive stops reading it, and has still to answer on its connection.
          return raw.iterator({ destroyOnReturn: false });
        },
      };
    },
    linger({ raw }) {
      const { socket } = raw;
      sockets.delete(socket);
      if (raw.complete || raw.destroyed) return;
      const timer = setTimeout(() => socket.destroy(), LINGER_MS);
      raw.once("close", () => clearTimeout(timer));
      raw.resume();
    },
  };
}

/** Lets a scope take archives as bodies, unread, and nothing else. */
export function acceptTarOnly(scope: HttpScope): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(TAR, (request, _payload, done) => {
    const isPlain = (request.headers["content-encoding"] ?? "identity").toLowerCase() === "identity";
    done(isPlain ? null : refusal(), undefined);
  });
  scope.addContentTypeParser("*", (_request, _payload, done) => done(refusal()));
}

const refusal = () =>
  new BailiffError("unsupported_media_type", `an archive is taken as ${TAR} only, not compressed`);

/** Closes the connection of a transfer on which nothing moves. */
export function boundIdleTime(reply: FastifyReply): void {
  reply.raw.socket?.setTimeout(IDLE_LIMIT_MS);
}
