import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIPv6, type LookupFunction } from "node:net";
import { judgeAddress } from "../../domain/webhook/judge-address.js";
import { judgeTarget, type TargetRules, type WebhookTarget } from "../../domain/webhook/judge-target.js";
import type { WebhookAnswer, WebhookPost, WebhookSender } from "../../ports/webhook-sender.js";
import { type ResolveHost, resolveHost } from "./resolve-host.js";

/** Of a receiver's answer; what is beyond it is not waited for. */
const MAX_ANSWER_BYTES = 65_536;
const RESOLVE_LIMIT_MS = 3_000;

/**
 * Posts over a connection of its own for each attempt. A name is resolved once; every address it has is judged, and the
 * connection goes to one that was judged and to nothing else, so a second answer of the name server changes nothing.
 */
export function createWebhookSender(deps: {
  readonly rules: TargetRules;
  /** Bound on one post, from the resolution to the end of the answer. */
  readonly limitMs: number;
  readonly userAgent: string;
  readonly resolve?: ResolveHost;
  /** Certificates to trust in place of the system's. */
  readonly ca?: string;
}): WebhookSender {
  const resolve = deps.resolve ?? resolveHost;

  const addressFor = async (target: WebhookTarget, post: WebhookPost): Promise<string | WebhookAnswer> => {
    if (target.isAddress) return target.host;
    let addresses: readonly string[];
    try {
      addresses = await resolve(target.host, Math.min(RESOLVE_LIMIT_MS, deps.limitMs));
    } catch {
      return { kind: "failed", code: "dns_failed" };
    }
    for (const address of addresses) {
      const fault = judgeAddress(address, deps.rules.allowAddresses);
      if (fault !== null) return { kind: "blocked", code: `address_${fault}` };
    }
    return addresses[post.earlierAttempts % addresses.length] ?? { kind: "failed", code: "dns_failed" };
  };

  return {
    async post(post) {
      const verdict = judgeTarget(post.url, deps.rules);
      if (!verdict.ok) return { kind: "blocked", code: verdict.code };
      const deadline = AbortSignal.timeout(deps.limitMs);
      const address = await addressFor(verdict.target, post);
      if (typeof address !== "string") return address;
      if (post.signal.aborted) return { kind: "failed", code: "interrupted" };
      if (deadline.aborted) return { kind: "failed", code: "timed_out" };
      return exchange(verdict.target, address, post, deadline, deps);
    },
  };
}

function exchange(
  target: WebhookTarget,
  address: string,
  post: WebhookPost,
  deadline: AbortSignal,
  deps: { readonly userAgent: string; readonly ca?: string },
): Promise<WebhookAnswer> {
  const family = isIPv6(address) ? 6 : 4;
  const pinned: LookupFunction = (_host, options, callback) => {
    if (options.all) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
  return new Promise((settle) => {
    const body = Buffer.from(post.body, "utf8");
    const options = {
      method: "POST",
      host: target.host,
      port: target.port,
      path: target.path,
      lookup: pinned,
      // No pool, and so no connection that was opened for somebody else; no proxy of the environment.
      agent: false,
      headers: {
        ...post.headers,
        "user-agent": deps.userAgent,
        "content-length": String(body.length),
        connection: "close",
      },
    } as const;
    let sent: ClientRequest;
    try {
      sent =
        target.protocol === "https:"
          ? requestHttps({ ...options, ...(deps.ca === undefined ? {} : { ca: deps.ca }) })
          : requestHttp(options);
    } catch {
      settle({ kind: "failed", code: "request_failed" });
      return;
    }
    let status: number | null = null;
    const over = (answer: WebhookAnswer) => {
      deadline.removeEventListener("abort", onDeadline);
      post.signal.removeEventListener("abort", onInterrupt);
      settle(answer);
      sent.destroy();
    };
    // The status line is the answer; whatever cuts off the body behind it changes nothing.
    const end = (code: string) =>
      over(status === null ? { kind: "failed", code } : { kind: "answered", status });
    const onDeadline = () => end("timed_out");
    const onInterrupt = () => end("interrupted");
    deadline.addEventListener("abort", onDeadline, { once: true });
    post.signal.addEventListener("abort", onInterrupt, { once: true });
    sent.on("error", (error: Error & { code?: string }) => end(codeOf(error)));
    sent.on("response", (answer: IncomingMessage) => {
      status = answer.statusCode ?? 0;
      let bytes = 0;
      answer.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) end("answer_too_large");
      });
      answer.on("close", () => end("answer_cut_off"));
    });
    sent.end(body);
  });
}

/** From a closed set: the texts of errors hold addresses. */
function codeOf(error: Error & { code?: string }): string {
  const code = error.code ?? "";
  if (code === "ECONNREFUSED") return "connection_refused";
  if (["ECONNRESET", "EPIPE"].includes(code)) return "connection_reset";
  if (["EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", "EADDRNOTAVAIL"].includes(code)) return "unreachable";
  if (/^(?:CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO)/.test(code)) return "tls_failed";
  if (code.startsWith("HPE_")) return "answer_invalid";
  return "request_failed";
}
