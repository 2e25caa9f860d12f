import type { Approval, ApprovalState } from "../../domain/approval/approval.js";
import type { CommandRecord, CommandResult, CommandState } from "../../domain/command.js";
import { readLabel, writeLabel } from "./session-format.js";

/** The fields of a record's hash that a listing reads: all but the streams' text. */
export const LISTED_FIELDS = [
  "formatVersion",
  "id",
  "tenant",
  "sessionId",
  "workspaceId",
  "principalId",
  "profile",
  "imageDigest",
  "pool",
  "request",
  "decision",
  "state",
  "createdAtMs",
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
  "approvalFiles",
  "approvalExpiresAtMs",
  "approvalDecidedBy",
  "approvalDecidedAtMs",
  "approvalNote",
  "result",
  "chargedWallMs",
  "chargedCpuMs",
  "label",
  "webhook",
  "traceparent",
] as const;

/** A result as it is stored: its facts, and the streams' text apart, so that a listing need not load it. */
export function writeResult(result: CommandResult): { result: string; output: string } {
  const { output, ...facts } = result;
  return { result: JSON.stringify(facts), output: output === null ? "" : JSON.stringify(output) };
}

/** The fields of a new record's hash; what is null is left out. */
export function writeRecord(record: CommandRecord): Record<string, string> {
  const fields: Record<string, string> = {
    formatVersion: String(record.formatVersion),
    id: record.id,
    tenant: record.tenant,
    sessionId: record.sessionId,
    workspaceId: record.workspaceId,
    principalId: record.principalId,
    profile: record.profile,
    imageDigest: record.imageDigest,
    pool: record.pool,
    request: JSON.stringify(record.request),
    decision: JSON.stringify(record.decision),
    state: record.state,
    createdAtMs: String(record.createdAtMs),
  };
  if (record.queuedAtMs !== null) fields["queuedAtMs"] = String(record.queuedAtMs);
  if (record.finishedAtMs !== null) fields["finishedAtMs"] = String(record.finishedAtMs);
  if (record.approvalId !== null) fields["approvalId"] = record.approvalId;
  if (record.approval !== undefined) Object.assign(fields, writeApproval(record.approval));
  if (record.charge !== undefined) {
    fields["chargedWallMs"] = String(record.charge.wallMs);
    fields["chargedCpuMs"] = String(record.charge.cpuMs);
  }
  if (record.label !== undefined) fields["label"] = writeLabel(record.label);
  if (record.webhook !== undefined) {
    fields["webhook"] = JSON.stringify(record.webhook);
    // What the scripts look for, without reading JSON.
    fields["webhookEvents"] = `|${record.webhook.events.join("|")}|`;
  }
  if (record.traceparent !== undefined) fields["traceparent"] = record.traceparent;
  if (record.result !== null) {
    const written = writeResult(record.result);
    fields["result"] = written.result;
    if (written.output !== "") fields["output"] = written.output;
  }
  return fields;
}

/** The format that this version writes, and the only one that it reads; `scripts/shared.lua` holds to the same. */
const FORMAT_VERSION = "1";

/** Whether this version knows what a record means; what it does not know is left to the newer one that wrote it. */
export function isKnownFormat(fields: Readonly<Record<string, string | null | undefined>>): boolean {
  return fields["formatVersion"] === FORMAT_VERSION;
}

/** The record in a hash, or null when there is none. Throws on a format this version does not know. */
export function readRecord(
  fields: Readonly<Record<string, string | null | undefined>>,
): CommandRecord | null {
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
  return {
    formatVersion: 1,
    id: text("id"),
    tenant: text("tenant"),
    sessionId: text("sessionId"),
    workspaceId: text("workspaceId"),
    principalId: text("principalId"),
    profile: text("profile"),
    imageDigest: text("imageDigest"),
    pool: text("pool"),
    request: JSON.parse(text("request")),
    decision: JSON.parse(text("decision")),
    state: text("state") as CommandState,
    createdAtMs: Number(text("createdAtMs")),
    queuedAtMs: time("queuedAtMs"),
    dispatchedAtMs: time("dispatchedAtMs"),
    finishedAtMs: time("finishedAtMs"),
    fence: optional("fence"),
    workerId: optional("workerId"),
    containerId: optional("containerId"),
    cancelRequested: optional("cancelRequested") === "1",
    approvalId: optional("approvalId"),
    ...readApproval(optional),
    result: readResult(optional("result"), optional("output")),
    ...readCharge(optional("chargedWallMs"), optional("chargedCpuMs")),
    ...readCommandLabel(optional("label")),
    ...readWebhook(optional("webhook")),
    ...readTrace(optional("traceparent")),
  };
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
    approvalFiles: JSON.stringify(approval.files),
    ...(expiresAtMs === null ? {} : { approvalExpiresAtMs: String(expiresAtMs) }),
    ...(decidedBy === null ? {} : { approvalDecidedBy: decidedBy }),
    ...(decidedAtMs === null ? {} : { approvalDecidedAtMs: String(decidedAtMs) }),
    ...(note === null ? {} : { approvalNote: note }),
  };
}

function readApproval(optional: (name: string) => string | null): Pick<CommandRecord, "approval"> {
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
      files: JSON.parse(optional("approvalFiles") ?? "[]"),
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

function readWebhook(text: string | null): Pick<CommandRecord, "webhook"> {
  return text === null ? {} : { webhook: JSON.parse(text) };
}

function readTrace(traceparent: string | null): Pick<CommandRecord, "traceparent"> {
  return traceparent === null ? {} : { traceparent };
}

function readResult(result: string | null, output: string | null): CommandResult | null {
  if (result === null) return null;
  return { ...JSON.parse(result), output: output === null ? null : JSON.parse(output) };
}
