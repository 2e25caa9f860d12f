import type { CommandRecord } from "../domain/command.js";

/** Tells of changes of single commands. Watching costs no connection, whatever the number of watchers. */
export interface CommandChanges {
  /**
   * Calls `onRecord` with the record as it is now, then after each change, without `output`; null once it is gone.
   * Changes may be told twice or several as one; they are told in order, and made up for after an outage. Ends with the returned
   * function, or with `onClosed` when the process stops watching.
   */
  watch(
    commandId: string,
    onRecord: (record: CommandRecord | null) => void,
    onClosed: () => void,
  ): () => void;
}
