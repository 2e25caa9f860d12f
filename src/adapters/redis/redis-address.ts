import { isIP } from "node:net";
import type { ConnectionOptions } from "node:tls";
import type { RedisOptions } from "ioredis";

/** Certificates in PEM, for `rediss://` alone; each may be null. */
export interface RedisTls {
  /** The authorities that Redis's certificate may come from, in place of the system's. */
  readonly ca: string | null;
  /** What this process proves itself with, and its key. */
  readonly cert: string | null;
  readonly key: string | null;
}

/**
 * What a URL says, as the client's options. The client's own reading would take options from the URL as well, and speak
 * plainly where `rediss` is in capitals.
 */
export function addressOf(url: string, tls: RedisTls | null): RedisOptions {
  const { protocol, hostname, port, username, password, pathname } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  return {
    host,
    port: Number(port || 6379),
    db: Number(pathname.slice(1) || 0),
    ...(username === "" ? {} : { username: decodeURIComponent(username) }),
    ...(password === "" ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === "rediss:" ? { tls: tlsTo(host, trustOf(tls)) } : {}),
  };
}

function trustOf(tls: RedisTls | null): ConnectionOptions {
  return {
    ...(tls?.ca ? { ca: tls.ca } : {}),
    ...(tls?.cert ? { cert: tls.cert } : {}),
    ...(tls?.key ? { key: tls.key } : {}),
  };
}

/** The same trust for a connection to a host: it is asked for by its name and has to prove that name, whatever the environment says. */
export function tlsTo(host: string, trust: ConnectionOptions): ConnectionOptions {
  const { servername: _, ...rest } = trust;
  return { ...rest, rejectUnauthorized: true, ...(isIP(host) === 0 ? { servername: host } : {}) };
}
