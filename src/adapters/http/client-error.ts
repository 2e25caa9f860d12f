import type { Socket } from "node:net";
import type { ConnectionError } from "fastify";
import { SECURE_HEADERS } from "./secure-headers.js";

/** Answers what node's HTTP parser refused, before there is a request. Never quotes what came in. */
export function answerClientError(error: ConnectionError, socket: Socket, requestId: string): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, phrase] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? [431, "Request Header Fields Too Large"]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? [408, "Request Timeout"]
        : [400, "Bad Request"];
  const body = JSON.stringify({
    type: "urn:bailiff:problem:invalid_request",
    title: "The request is not valid",
    status,
    code: "invalid_request",
    detail: "this is not a request that can be read",
    instance: `urn:bailiff:request:${requestId}`,
  });
  const headers = {
    ...SECURE_HEADERS,
    "content-type": "application/problem+json",
    "content-length": String(Buffer.byteLength(body)),
    "x-request-id": requestId,
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${phrase}\r\n${lines.join("")}\r\n${body}`);
}
