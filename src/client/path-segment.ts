/** One segment of a path. Throws for what a URL would take for another path: a name must not choose the call. */
export function segmentOf(name: string): string {
  if (name === "" || name === "." || name === "..")
    throw new TypeError("an id or a name can't be empty or dots");
  return encodeURIComponent(name);
}
