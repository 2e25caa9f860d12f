import type { Approval, ApprovalState, BoundFile } from "../../domain/approval/approval.js";
import type { CommandRecord, CommandResult, CommandState } from "../../domain/command.js";
import { readLabel, writeLabel } from "./session-format.js";

/**
 * What of a record never changes after its admission and no script looks at: one field in JSON. A field of its own has what
 * changes, what scripts read, and what finds the command's keys without its format being known.
 */
interface RecordDocument
  extends Pick<
    CommandRecord,
    | "id"
    | "workspaceId"
    | "principalId"
    | "profile"
    | "imageDigest"
    | "request"
    | "decision"
    | "createdAtMs"
    | "webhook"
    | "traceparent"
  > {
  readonly approvalFiles?: readonly BoundFile[];
}

/** The document's members. In format 1 each is a field of its own: a string as it is, anything else in JSON. */
const DOCUMENT_MEMBERS = {
  id: "string",
  workspaceId: "string",
  principalId: "string",
  profile: "string",
  imageDigest: "string",
  request: "object",
  decision: "object",
  createdAtMs: "number",
  approvalFiles: "object",
  webhook: "object",
  traceparent: "string",
} as const satisfies Record<keyof RecordDocument, "string" | "number" | "object">;
const MAY_LACK: ReadonlySet<string> = new Set<keyof RecordDocument>([
  "approvalFiles",
  "webhook",
  "traceparent",
]);

/** The fields of a record's hash, of either format, that a listing reads: all but the streams' text. */
export const LISTED_FIELDS: readonly string[] = [
  "formatVersion",
  "tenant",
  "sessionId",
  "pool",
  "document",
  "state",
  "queuedAtMs",
  "dispatchedAtMs",
  "finishedAtMs",
  "fence",
  "workerId",
  "containerId",
  "cancelRequested",
  "approvalId",
  "approvalState",
  "approvalBinding",
  "approvalExpiresAtMs",
  "approvalDecidedBy",
  "approvalDecidedAtMs",
  "approvalNote",
  "result",
  "chargedWallMs",
  "chargedCpuMs",
  "label",
  ...Object.keys(DOCUMENT_MEMBERS),
];

/** A result as it is stored: its facts, and the streams' text apart, so that a listing need not load it. */
export function writeResult(result: CommandResult): { result: string; output: string } {
  const { output, ...facts } = result;
  return { result: JSON.stringify(facts), output: output === null ? "" : JSON.stringify(output) };
}

/** The fields of a new record's hash; what is null is left out. */
export function writeRecord(record: CommandRecord): Record<string, string> {
  const fields: Record<string, string> = {
    formatVersion: "2",
    tenant: record.tenant,
    sessionId: record.sessionId,
    pool: record.pool,
    document: writeDocument(record),
    state: record.state,
  };
  if (record.queuedAtMs !== null) fields["queuedAtMs"] = String(record.queuedAtMs);
  if (record.finishedAtMs !== null) fields["finishedAtMs"] = String(record.finishedAtMs);
  if (record.approvalId !== null) fields["approvalId"] = record.approvalId;
  if (record.approval !== undefined) {
    Object.assign(fields, writeApproval(record.approval));
    // Like the webhook's events below: what the scripts look for, without reading JSON.
    fields["principalId"] = record.principalId;
  }
  if (record.charge !== undefined) {
    fields["chargedWallMs"] = String(record.charge.wallMs);
    fields["chargedCpuMs"] = String(record.charge.cpuMs);
  }
  if (record.label !== undefined) fields["label"] = writeLabel(record.label);
  if (record.webhook !== undefined) fields["webhookEvents"] = `|${record.webhook.events.join("|")}|`;
  if (record.result !== null) {
    const written = writeResult(record.result);
    fields["result"] = written.result;
    if (written.output !== "") fields["output"] = written.output;
  }
  return fields;
}

/**
 * The formats that this version reads; it writes the last, and a record keeps the one that it was written in.
 * `scripts/shared.lua` holds to the same.
 */
const KNOWN_FORMATS: ReadonlySet<string> = new Set(["1", "2"]);

type Fields = Readonly<Record<string, string | null | undefined>>;

/** Whether this version knows what a record means; what it does not know is left to the newer one that wrote it. */
export function isKnownFormat(fields: Fields): boolean {
  return KNOWN_FORMATS.has(fields["formatVersion"] ?? "");
}

/** The record in a hash, or null when there is none. Throws on a format this version does not know, and where a part is missing. */
export function readRecord(fields: Fields): CommandRecord | null {
  const version = fields["formatVersion"];
  if (version === undefined || version === null) return null;
  if (!isKnownFormat(fields))
    throw new Error(`command record of format ${version}: written by a newer Bailiff`);
  const text = (name: string): string => {
    const value = fields[name];
    if (typeof value !== "string") throw new Error(`command record without ${name}`);
    return value;
  };
  const optional = (name: string): string | null => fields[name] ?? null;
  const time = (name: string): number | null => {
    const value = optional(name);
    return value === null ? null : Number(value);
  };
  const { approvalFiles, ...unchanging } = readDocument(
    version === "1" ? documentOfFormat1(fields) : JSON.parse(text("document")),
  );
  return {
    ...unchanging,
    tenant: text("tenant"),
    sessionId: text("sessionId"),
    pool: text("pool"),
    state: text("state") as CommandState,
    queuedAtMs: time("queuedAtMs"),
    dispatchedAtMs: time("dispatchedAtMs"),
    finishedAtMs: time("finishedAtMs"),
    fence: optional("fence"),
    workerId: optional("workerId"),
    containerId: optional("containerId"),
    cancelRequested: optional("cancelRequested") === "1",
    approvalId: optional("approvalId"),
    ...readApproval(optional, approvalFiles ?? []),
    result: readResult(optional("result"), optional("output")),
    ...readCharge(optional("chargedWallMs"), optional("chargedCpuMs")),
    ...readCommandLabel(optional("label")),
  };
}

function writeDocument(record: CommandRecord): string {
  const document: RecordDocument = {
    id: record.id,
    workspaceId: record.workspaceId,
    principalId: record.principalId,
    profile: record.profile,
    imageDigest: record.imageDigest,
    request: record.request,
    decision: record.decision,
    createdAtMs: record.createdAtMs,
    ...(record.approval === undefined ? {} : { approvalFiles: record.approval.files }),
    ...(record.webhook === undefined ? {} : { webhook: record.webhook }),
    ...(record.traceparent === undefined ? {} : { traceparent: record.traceparent }),
  };
  return JSON.stringify(document);
}

/** A document of known members alone, whatever else is in it. */
function readDocument(stored: Record<string, unknown>): RecordDocument {
  const document: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(DOCUMENT_MEMBERS)) {
    const value = stored[name];
    if (value === undefined && MAY_LACK.has(name)) continue;
    if (value === null || typeof value !== kind) throw new Error(`command record without ${name}`);
    document[name] = value;
  }
  return document as unknown as RecordDocument;
}

function documentOfFormat1(fields: Fields): Record<string, unknown> {
  const document: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(DOCUMENT_MEMBERS)) {
    const value = fields[name] ?? undefined;
    document[name] = value === undefined || kind === "string" ? value : JSON.parse(value);
  }
  return document;
}

/** The hash in a script's flat reply of names and values. */
export function pairs(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let i = 0; i + 1 < flat.length; i += 2) fields[flat[i] ?? ""] = flat[i + 1] ?? "";
  return fields;
}

/** A new approval; the end of its time is the admission's to write, by the store's clock. */
function writeApproval(approval: Approval): Record<string, string> {
  const { expiresAtMs, decidedBy, decidedAtMs, note } = approval;
  return {
    approvalState: approval.state,
    approvalBinding: approval.binding,
    ...(expiresAtMs === null ? {} : { approvalExpiresAtMs: String(expiresAtMs) }),
    ...(decidedBy === null ? {} : { approvalDecidedBy: decidedBy }),
    ...(decidedAtMs === null ? {} : { approvalDecidedAtMs: String(decidedAtMs) }),
    ...(note === null ? {} : { approvalNote: note }),
  };
}

function readApproval(
  optional: (name: string) => string | null,
  files: readonly BoundFile[],
): Pick<CommandRecord, "approval"> {
  const id = optional("approvalId");
  const state = optional("approvalState");
  if (id === null || state === null) return {};
  const number = (name: string) => {
    const text = optional(name);
    return text === null ? null : Number(text);
  };
  return {
    approval: {
      id,
      state: state as ApprovalState,
      binding: optional("approvalBinding") ?? "",
      files,
      expiresAtMs: number("approvalExpiresAtMs"),
      decidedBy: optional("approvalDecidedBy"),
      decidedAtMs: number("approvalDecidedAtMs"),
      note: optional("approvalNote"),
    },
  };
}

function readCharge(wallMs: string | null, cpuMs: string | null): Pick<CommandRecord, "charge"> {
  return wallMs === null || cpuMs === null
    ? {}
    : { charge: { wallMs: Number(wallMs), cpuMs: Number(cpuMs) } };
}

function readCommandLabel(text: string | null): Pick<CommandRecord, "label"> {
  return text === null ? {} : { label: readLabel(text) };
}

function readResult(result: string | null, output: string | null): CommandResult | null {
  if (result === null) return null;
  return { ...JSON.parse(result), output: output === null ? null : JSON.parse(output) };
}
