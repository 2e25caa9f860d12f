import type { IdKind } from "../domain/ids.js";

/** Makes unguessable ids that sort by time. */
export interface IdSource {
  next(kind: IdKind): string;
}
