import { looseName } from "../policy/executable-name.js";

/** True when argv[0] is Git in any spelling: a path, another case, `git.exe`, a `git-*` helper. `gitk` is not Git. */
export function isGit(argv0: string): boolean {
  const name = looseName(argv0);
  return name === "git" || name.startsWith("git-");
}
