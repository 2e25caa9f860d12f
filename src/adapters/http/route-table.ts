/** One registered route. */
export interface RouteEntry {
  readonly method: string;
  /** With parameters as `:name`. */
  readonly url: string;
}

/** Every route of an app: tells 405 from 404, and lets tests walk what exists. */
export interface RouteTable {
  add(methods: readonly string[], url: string): void;
  readonly entries: readonly RouteEntry[];
  /** The methods that some route takes for a concrete path; empty where there is none. */
  methodsFor(path: string): readonly string[];
}

/** Builds an empty table. */
export function createRouteTable(): RouteTable {
  const entries: RouteEntry[] = [];
  return {
    entries,
    add(methods, url) {
      for (const method of methods) entries.push({ method, url });
    },
    methodsFor(path) {
      return [
        ...new Set(entries.filter((entry) => matches(entry.url, path)).map((entry) => entry.method)),
      ].sort();
    },
  };
}

function matches(pattern: string, path: string): boolean {
  // A wildcard serves static files: there a wrong path is just not found.
  if (pattern.includes("*")) return false;
  const wanted = pattern.split("/");
  const given = path.split("/");
  return (
    wanted.length === given.length &&
    wanted.every((part, i) => (part.startsWith(":") ? given[i] !== "" : part === given[i]))
  );
}
