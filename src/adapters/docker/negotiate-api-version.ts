import type { IncomingMessage } from "node:http";
import type Docker from "dockerode";
import { RuntimeFault } from "../../ports/container-runtime.js";
import { engineDial } from "./engine-dial.js";

/** The oldest version with every field that the containers depend on (cgroup namespaces). */
const OLDEST: readonly [number, number] = [1, 41];
/** The newest version this adapter was written against. */
const NEWEST: readonly [number, number] = [1, 51];

function below(a: readonly [number, number], b: readonly [number, number]): boolean {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
}

/**
 * The version to speak with an engine that offers this one as its newest.
 * @throws RuntimeFault `refused` when the engine is too old or does not say.
 */
export function chooseApiVersion(offered: string): string {
  const match = /^(\d{1,4})\.(\d{1,4})$/.exec(offered);
  if (match === null) {
    throw new RuntimeFault("refused", "ping", "ping: the engine does not say which API version it speaks");
  }
  const version: [number, number] = [Number(match[1]), Number(match[2])];
  if (below(version, OLDEST)) {
    const needed = OLDEST.join(".");
    throw new RuntimeFault(
      "refused",
      "ping",
      `ping: the engine speaks API ${offered}; ${needed} or newer is needed`,
    );
  }
  return below(NEWEST, version) ? NEWEST.join(".") : offered;
}

/** Asks the engine's /_ping, which needs no version itself. */
export async function negotiateApiVersion(docker: Docker, abortSignal: AbortSignal): Promise<string> {
  const response = await engineDial<IncomingMessage>(docker, {
    path: "/_ping",
    method: "GET",
    isStream: true,
    abortSignal,
    statusCodes: { 200: true },
  });
  response.on("error", () => {});
  response.resume();
  const offered = response.headers["api-version"];
  return chooseApiVersion(typeof offered === "string" ? offered : "");
}
