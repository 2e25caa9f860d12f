import type { FastifyInstance } from "fastify";
import { readStrictJson } from "../../contract/strict-json.js";
import { BailiffError } from "../../domain/errors.js";

/** Takes request bodies as strict JSON in valid UTF-8, and nothing else. An empty body is no body. */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(request.headers["content-type"] ?? "")?.[1];
    const encoding = request.headers["content-encoding"] ?? "identity";
    if (
      (charset !== undefined && charset.toLowerCase() !== "utf-8") ||
      encoding.toLowerCase() !== "identity"
    ) {
      done(
        new BailiffError(
          "unsupported_media_type",
          "a body is taken as application/json in UTF-8 only, not encoded",
        ),
      );
      return;
    }
    if (body.length === 0) {
      done(null, undefined);
      return;
    }
    const text = decode(body as Buffer);
    if (text === null) {
      // Decoding with replacement would run another argv than the one that was sent.
      done(new BailiffError("invalid_request", "the body is not valid UTF-8"));
      return;
    }
    const read = readStrictJson(text);
    if (read.ok) done(null, read.value);
    else done(new BailiffError("invalid_request", read.message));
  });
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
