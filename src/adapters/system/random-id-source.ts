import { randomBytes } from "node:crypto";
import { formatId } from "../../domain/ids.js";
import type { Clock } from "../../ports/clock.js";
import type { IdSource } from "../../ports/id-source.js";

/** Ids from the clock and 80 random bits of the operating system. */
export function createRandomIdSource(clock: Clock): IdSource {
  return { next: (kind) => formatId(kind, clock.nowMs(), randomBytes(10)) };
}
