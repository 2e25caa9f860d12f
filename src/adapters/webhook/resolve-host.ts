import { Resolver } from "node:dns/promises";

/** Answers a name's addresses, or rejects; bounded in time. `servers` are asked in place of the configured ones. */
export type ResolveHost = (
  host: string,
  limitMs: number,
  servers?: readonly string[],
) => Promise<readonly string[]>;

const TRIES = 2;
const MAX_ADDRESSES = 16;

/**
 * Asks the configured name servers directly: unlike the system's resolver this can be bounded, so that names of a dead server
 * never hold up the threads which files are read on. The hosts file is not looked at.
 */
export const resolveHost: ResolveHost = async (host, limitMs, servers) => {
  const resolver = new Resolver({ timeout: Math.max(100, Math.floor(limitMs / TRIES / 2)), tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const timer = setTimeout(() => resolver.cancel(), limitMs);
  try {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (addresses.length === 0) throw new Error("the name has no address");
    if (addresses.length > MAX_ADDRESSES) throw new Error("the name has too many addresses");
    return addresses;
  } finally {
    clearTimeout(timer);
  }
};
