import { randomBytes } from "node:crypto";
import { createBullBoard } from "@bull-board/api";
import { FastifyAdapter } from "@bull-board/fastify";
import type { FastifyRequest } from "fastify";
import { requireScope } from "../../app/access.js";
import { BailiffError } from "../../domain/errors.js";
import type { Principal } from "../../ports/authenticator.js";
import { sendProblem } from "./error-handler.js";
import type { HttpScope, QueueBoard } from "./http-deps.js";

const PATH = "/console/queues";
const COOKIE = "bailiff_board";
/** Long enough to look around; then the console asks for another one with the key. */
const VISIT_MS = 10 * 60_000;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/**
 * The board's page writes one style element and takes its fonts from elsewhere; both are refused, and it works without. What it
 * can't do without is `base`, which it has in its page.
 */
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'self'; form-action 'none'; frame-ancestors 'none'";

/**
 * The way in: whoever has a key with the scope `admin` gets a token for a few minutes. A browser that opens a page sends no
 * Authorization header, and a key in an address would be kept in histories and logs, so the token travels as a cookie: no script can read
 * it, no other site can have it sent, no path but the board's gets it, and it opens nothing but the board, which only shows.
 */
export function queueBoardEntry(
  scope: HttpScope,
  board: QueueBoard,
  principalOf: (request: FastifyRequest) => Principal,
): void {
  scope.post(`${PATH}/visit`, { schema: { hide: true } }, async (request, reply) => {
    requireScope(principalOf(request), "admin");
    const token = randomBytes(32).toString("base64url");
    await board.admit(token, VISIT_MS);
    const isSecure = request.protocol === "https" || request.headers["x-forwarded-proto"] === "https";
    const cookie = `${COOKIE}=${token}; Path=${PATH}; Max-Age=${VISIT_MS / 1_000}; HttpOnly; SameSite=Strict`;
    return reply
      .code(204)
      .header("set-cookie", isSecure ? `${cookie}; Secure` : cookie)
      .send();
  });
}

/** bull-board over the deployment's queues, for looking only. It shows entries of every tenant: ids of commands, never an argv. */
export async function registerQueueBoard(app: HttpScope, board: QueueBoard): Promise<void> {
  const adapter = new FastifyAdapter();
  adapter.setBasePath(PATH);
  const { replaceQueues } = createBullBoard({
    queues: [],
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: "Bailiff queues", hideRedisDetails: true } },
  });
  // Its own would answer with what went wrong inside.
  adapter.setErrorHandler(() => ({ status: 500, body: { code: "internal" } }));
  const refusalOf = async (request: FastifyRequest): Promise<BailiffError | null> => {
    // Nothing on the board may change a queue; its own read-only mode says the same once more.
    if (request.method !== "GET" && request.method !== "HEAD") {
      return new BailiffError("method_not_allowed", "the board only shows");
    }
    const token = tokenOf(request.headers.cookie);
    if (token !== null && (await board.isAdmitted(token))) return null;
    return new BailiffError(
      "unauthenticated",
      "open the board from the console, with a key of the scope admin",
    );
  };
  await app.register(
    async (scope) => {
      scope.addHook("onRequest", async (request, reply) => {
        reply.header("content-security-policy", CSP);
        const refusal = await refusalOf(request);
        // Sent from here: what is thrown would be answered by the board's own error handler.
        if (refusal !== null) return sendProblem(reply, refusal, request.id);
        replaceQueues(board.pools().map((pool) => board.queueOf(pool)));
      });
      await scope.register(adapter.registerPlugin() as Parameters<typeof scope.register>[0]);
    },
    { prefix: PATH },
  );
}

function tokenOf(header: string | undefined): string | null {
  for (const part of (header ?? "").split(";")) {
    const [name, value = ""] = part.trim().split("=", 2);
    if (name === COOKIE && TOKEN.test(value)) return value;
  }
  return null;
}
