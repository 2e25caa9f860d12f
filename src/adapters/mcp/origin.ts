const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Whether a request with this `Origin` may go on. Programs send none; a page does, and only a page that this machine serves is
 * taken: any other could have been led here by a name that changed its address (DNS rebinding).
 */
export function isAllowedOrigin(origin: string | undefined): boolean {
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname } = new URL(origin);
  return (protocol === "http:" || protocol === "https:") && LOOPBACK_HOSTS.has(hostname);
}
