/** What the console knows of the API: the contract's own types, under one roof. */
export type { ApprovalSummaryWire, ApprovalWire } from "../../../src/contract/approvals.js";
export type { CommandSummaryWire, CommandWire } from "../../../src/contract/commands.js";
export type { DecisionWire } from "../../../src/contract/decisions.js";
export type { CommandEvidenceWire } from "../../../src/contract/evidence.js";
export type { PrincipalWire } from "../../../src/contract/principal.js";
export type { SessionWire } from "../../../src/contract/sessions.js";
export type { FleetWire } from "../../../src/contract/workers.js";
