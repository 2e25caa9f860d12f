import type { CompiledPolicy } from "../domain/policy/compiled-policy.js";

/** The policy in force. Reload is atomic: a bad document leaves the old one and shows in `problem`. */
export interface PolicySource {
  current(): CompiledPolicy;
  /** Why the newest document is not in force; null when it is. */
  problem(): string | null;
  /** Read again now; resolves when the outcome is known. */
  reload(): Promise<void>;
  close(): Promise<void>;
}
