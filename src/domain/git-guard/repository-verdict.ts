import { readGitConfigText } from "./git-config-text.js";
import type { ConfigOverride } from "./harden-git.js";

/** What stands at the root of a workspace where Git looks, read without following links. */
export interface RepositoryFacts {
  /** What `.git` is; `other` covers files, links and what could not be read. */
  readonly dotGit: "missing" | "directory" | "other";
  /** Text of `.git/config` and, where it exists, `.git/config.worktree`; null for a file that is not a readable regular file of sane size. */
  readonly configs: readonly (string | null)[];
  /** True when `.git/objects/info/alternates` (or its HTTP twin) exists and is not empty. */
  readonly hasAlternates: boolean;
  /** True when a part of `.git` that Git reads is a symbolic link. */
  readonly hasLinks: boolean;
}

/** Whether hardened Git may run in a repository, and which settings it needs on top. */
export type RepositoryVerdict =
  | { readonly ok: true; readonly overrides: readonly ConfigOverride[] }
  | { readonly ok: false; readonly code: string; readonly reason: string };

/** More drivers than this is no repository a person set up. */
const MAX_FILTERS = 64;

/**
 * Judges a repository before one of the six vectors is dispatched in it. What a fixed setting can switch off is switched off by
 * `hardenGit`; what depends on the repository is here: filter drivers are emptied by name, and a repository that pulls in
 * configuration, objects or a directory from elsewhere is refused.
 */
export function repositoryVerdict(facts: RepositoryFacts): RepositoryVerdict {
  if (facts.dotGit === "missing") return { ok: true, overrides: [] };
  if (facts.dotGit !== "directory") {
    return refused("git_directory", "the workspace's .git is not a directory of its own");
  }
  if (facts.hasLinks)
    return refused("git_links", "the workspace's .git holds symbolic links in place of its parts");
  if (facts.hasAlternates)
    return refused("git_alternates", "the workspace's repository borrows objects from elsewhere");
  const filters = new Set<string>();
  for (const text of facts.configs) {
    const variables = text === null ? undefined : readGitConfigText(text);
    if (variables === undefined)
      return refused("git_config", "the workspace's Git configuration can't be read");
    for (const { section, subsection } of variables) {
      if (section === "include" || section === "includeif") {
        return refused("git_include", "the workspace's Git configuration includes other files");
      }
      if (section === "filter" && subsection !== undefined) filters.add(subsection);
    }
  }
  if (filters.size > MAX_FILTERS)
    return refused("git_filters", "the workspace's Git configuration defines too many filters");
  const overrides: ConfigOverride[] = [];
  for (const filter of filters) {
    if (filter.includes("\0") || filter.includes("\n"))
      return refused("git_config", "a filter's name can't be written");
    overrides.push(
      [`filter.${filter}.clean`, ""],
      [`filter.${filter}.smudge`, ""],
      [`filter.${filter}.process`, ""],
      [`filter.${filter}.required`, "false"],
    );
  }
  return { ok: true, overrides };
}

function refused(code: string, reason: string): RepositoryVerdict {
  return { ok: false, code, reason };
}
