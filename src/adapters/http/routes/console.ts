import type { FastifyReply, FastifyRequest } from "fastify";
import { BailiffError } from "../../../domain/errors.js";
import type { ConsoleFile, ConsoleFiles } from "../console-files.js";
import type { HttpScope } from "../http-deps.js";

/**
 * What the console's page may do: load its own files and call its own API. No inline script or style, no other host, no frame, no
 * form, and no text that becomes markup: with `trusted-types 'none'` a browser refuses every way to do that.
 */
const CONSOLE_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** No device and no sensor is any of the console's business. */
const PERMISSIONS =
  "camera=(), microphone=(), geolocation=(), usb=(), serial=(), hid=(), bluetooth=(), payment=(), clipboard-read=()";

const A_YEAR = "public, max-age=31536000, immutable";

/** `/console` and its files, without a key: they hold nothing but code, which asks for one. `/` leads a browser there. */
export function consoleRoutes(app: HttpScope, files: ConsoleFiles): void {
  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    reply.header("content-security-policy", CONSOLE_CSP).header("permissions-policy", PERMISSIONS);
    // Kept, but asked about each time: a new build takes effect with the next load.
    return send(request, reply, files.page, "no-cache");
  };

  app.get("/console", { schema: { hide: true } }, sendPage);
  app.get("/console/", { schema: { hide: true } }, sendPage);

  app.get<{ Params: { name: string } }>(
    "/console/assets/:name",
    { schema: { hide: true } },
    async (request, reply) => {
      const file = files.assets.get(request.params.name);
      if (file === undefined) throw new BailiffError("not_found", "there is nothing at this path");
      return send(request, reply, file, A_YEAR);
    },
  );

  app.get("/", { schema: { hide: true } }, async (request, reply) => {
    if (!(request.headers.accept ?? "").includes("text/html")) {
      throw new BailiffError("not_found", "there is nothing at this path");
    }
    return reply.header("vary", "accept").redirect("/console", 302);
  });
}

function send(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile, caching: string) {
  reply.header("cache-control", caching).header("etag", file.etag).header("vary", "accept-encoding");
  if (request.headers["if-none-match"] === file.etag) return reply.code(304).send();
  const body = takesGzip(request.headers["accept-encoding"]) ? file.gzipped : null;
  if (body !== null) reply.header("content-encoding", "gzip");
  return reply
    .code(200)
    .type(file.mediaType)
    .send(body ?? file.bytes);
}

function takesGzip(header: string | string[] | undefined): boolean {
  return /(^|,)\s*gzip\s*(,|;(?!\s*q=0(\.0*)?\s*(,|$))|$)/.test(String(header ?? ""));
}
