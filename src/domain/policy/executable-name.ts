const WINDOWS_SUFFIX = /\.(?:exe|com|cmd|bat|ps1)$/;

/** The name a suspicious reader gives argv[0]: last component by either slash, trimmed, case-folded, without a Windows suffix. */
export function looseName(argv0: string): string {
  const text = argv0.trim().replace(/[/\\]+$/, "");
  const cut = Math.max(text.lastIndexOf("/"), text.lastIndexOf("\\"));
  return text
    .slice(cut + 1)
    .toLowerCase()
    .trim()
    .replace(WINDOWS_SUFFIX, "");
}

/** The name argv[0] may borrow allow rules from: a bare name, or the name its absolute path is listed for; else undefined. */
export function strictName(argv0: string, nameByPath: ReadonlyMap<string, string>): string | undefined {
  if (!argv0.includes("/") && !argv0.includes("\\")) return argv0;
  return nameByPath.get(argv0);
}
