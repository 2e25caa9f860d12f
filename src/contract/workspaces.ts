import { z } from "zod";
import type { ArchiveReceipt } from "../domain/archive/archive-terms.js";
import type { Workspace } from "../domain/session.js";
import { isoTime, timeSchema } from "./wire-values.js";

/** A workspace as callers see it. */
export const workspaceSchema = z
  .strictObject({
    workspace_id: z.string(),
    uid: z.int().meta({ description: "Whom its files belong to, and as whom commands run in it; never 0." }),
    gid: z.int(),
    created_at: timeSchema,
  })
  .meta({ id: "Workspace" });

/** A workspace on the wire. */
export type WorkspaceWire = z.output<typeof workspaceSchema>;

/** Maps a workspace; its tenant is the caller's own. */
export function workspaceToWire(workspace: Workspace): WorkspaceWire {
  return {
    workspace_id: workspace.id,
    uid: workspace.uid,
    gid: workspace.gid,
    created_at: isoTime(workspace.createdAtMs),
  };
}

/** What was taken from an archive, as callers see it. */
export const archiveReceiptSchema = z
  .strictObject({
    entries: z.int().meta({ description: "Files, links and directories, also those that only paths name." }),
    bytes: z.int().meta({ description: "Of all files together." }),
  })
  .meta({ id: "ArchiveReceipt" });

/** Maps a receipt. */
export function archiveReceiptToWire(receipt: ArchiveReceipt): z.output<typeof archiveReceiptSchema> {
  return { entries: receipt.entries, bytes: receipt.bytes };
}
