import type { NameTable } from "./compiled-policy.js";
import type { ExecutablePattern } from "./policy-document.js";
import { matchesGlob } from "./token-pattern.js";

/** Builds a table of entries by case-folded executable name. */
export function buildNameTable<T>(
  entries: readonly { readonly names: readonly ExecutablePattern[]; readonly entry: T }[],
): NameTable<T> {
  const byName = new Map<string, T[]>();
  const byGlob: { glob: string; entry: T }[] = [];
  for (const { names, entry } of entries) {
    for (const name of names) {
      if (typeof name !== "string") byGlob.push({ glob: name.glob.toLowerCase(), entry });
      else {
        const key = name.toLowerCase();
        const listed = byName.get(key);
        if (listed === undefined) byName.set(key, [entry]);
        else listed.push(entry);
      }
    }
  }
  return { byName, byGlob };
}

/** Every entry for a loose (case-folded) name, in document order of literals before globs. */
export function lookUpName<T>(table: NameTable<T>, name: string): readonly T[] {
  const found = table.byName.get(name) ?? [];
  if (table.byGlob.length === 0) return found;
  const more = table.byGlob.filter(({ glob }) => matchesGlob(glob, name)).map(({ entry }) => entry);
  return more.length === 0 ? found : [...found, ...more];
}
