import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";

/** Who calls, and in which session. */
export interface Caller {
  readonly key: string;
  readonly sessionId: string;
}

/** The API as a caller that measures uses it: one kept connection per request under way, and nothing else. */
export interface ApiClient {
  /** Submits and waits for the end; rejects when the outcome is not the one expected. */
  run(caller: Caller, argv: readonly string[], outcome?: string): Promise<CommandAnswer>;
  close(): void;
}

/** What a benchmark looks at in an answer. */
export interface CommandAnswer {
  readonly command_id: string;
  readonly outcome: string | null;
  readonly usage: { readonly wall_ms: number } | null;
}

const WAIT_S = 60;
/** A busy machine may take longer than one wait; a command that takes this many will not end. */
const MOST_WAITS = 5;

/** Connects at the first call. */
export function createApiClient(url: string): ApiClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });

  const call = async (caller: Caller, method: string, path: string, body?: string) => {
    const asked = request(`${url}${path}`, {
      method,
      agent,
      headers: {
        authorization: `Bearer ${caller.key}`,
        prefer: `wait=${WAIT_S}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
    });
    asked.end(body);
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += chunk;
    const status = response.statusCode ?? 0;
    if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text.slice(0, 500)}`);
    return JSON.parse(text) as CommandAnswer;
  };

  return {
    async run(caller, argv, outcome = "completed") {
      const path = `/v1/sessions/${caller.sessionId}/commands`;
      let answer = await call(caller, "POST", path, JSON.stringify({ argv }));
      for (let waits = 1; answer.outcome === null && waits < MOST_WAITS; waits += 1)
        answer = await call(caller, "GET", `/v1/commands/${answer.command_id}`);
      if (answer.outcome !== outcome)
        throw new Error(`${argv[0]} (${answer.command_id}) ended as ${answer.outcome}, not ${outcome}`);
      return answer;
    },
    close: () => agent.destroy(),
  };
}
