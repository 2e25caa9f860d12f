/** Where a workspace-relative path leads when every symlink is followed; `unknown` when the resolver met an error. */
export type PathFact = "missing" | "inside" | "outside" | "unknown";

/** What was found out about a workspace's paths before the decision. */
export interface WorkspaceFacts {
  /** `undefined` for a path that was not looked up. */
  resolve(path: string): PathFact | undefined;
}

/** Facts from a table of what an adapter looked up. */
export function workspaceFacts(table: ReadonlyMap<string, PathFact>): WorkspaceFacts {
  return { resolve: (path) => table.get(path) };
}

/** Facts of a workspace nobody looked into: every path counts as missing. For explanations without a workspace. */
export const lexicalOnlyFacts: WorkspaceFacts = { resolve: () => "missing" };
