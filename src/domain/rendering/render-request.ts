import type { BoundFile } from "../approval/approval.js";
import type { CommandRecord } from "../command.js";
import type { LayerVerdict } from "../decision/decision.js";
import { type ArgvRendering, renderArgv } from "./render-argv.js";
import { safeText } from "./safe-text.js";

/** One layer's reason to ask a person. */
export interface AskReason {
  readonly layer: string;
  readonly code: string;
  readonly reason: string;
  readonly ruleId: string | null;
  /** The inner vector it is about, rendered; null where it is about argv itself. */
  readonly vector: string | null;
}

/** Everything a reviewer needs to know of one request, safe to put in front of eyes. */
export interface RequestRendering {
  readonly argv: ArgvRendering;
  readonly why: readonly AskReason[];
  /** Commands seen inside the requested one, rendered in bounded length. */
  readonly inner: readonly { readonly argv: string; readonly via: string; readonly certain: boolean }[];
  /** How many more there are than `inner` names. */
  readonly furtherInner: number;
  /** All of it as lines of plain text. */
  readonly text: string;
}

const MAX_INNER = 16;
const MAX_FILES = 16;
/** A longer argv is given to readers of `text` in its summary, which says so. */
const MAX_TEXT_ARGV = 4_000;

/** Shows a request for a decision about it. Pure; what API, CLI, console, MCP and webhooks show is this. */
export function renderRequest(record: CommandRecord): RequestRendering {
  const argv = renderArgv(record.request.argv);
  const why = record.decision.layers.filter(({ verdict }) => verdict === "ask").map(askReason);
  const inner = record.decision.innerVectors.slice(0, MAX_INNER).map((each) => ({
    argv: renderArgv(each.argv).summary,
    via: renderArgv(each.via).summary,
    certain: each.certain,
  }));
  const furtherInner = record.decision.innerVectors.length - inner.length;
  return { argv, why, inner, furtherInner, text: asLines(record, argv, why, inner, furtherInner) };
}

function askReason(layer: LayerVerdict): AskReason {
  return {
    layer: layer.layer,
    code: layer.code,
    reason: safeText(layer.reason).text,
    ruleId: layer.ruleId === undefined ? null : safeText(layer.ruleId).text,
    vector: layer.vector === undefined ? null : renderArgv(layer.vector).summary,
  };
}

function asLines(
  record: CommandRecord,
  argv: ArgvRendering,
  why: RequestRendering["why"],
  inner: RequestRendering["inner"],
  furtherInner: number,
): string {
  const { request, decision, approval } = record;
  const isWhole = argv.text.length <= MAX_TEXT_ARGV;
  const rows: [string, string][] = [
    [isWhole ? "argv" : "argv (cut)", isWhole ? argv.text : argv.summary],
    ["length", `${argv.tokens} tokens, ${argv.characters} characters, ${argv.bytes} bytes`],
  ];
  for (const note of argv.notes.filter(({ marks }) => marks.length > 0)) {
    const size = `${note.characters} characters, ${note.bytes} bytes`;
    rows.push([
      `! token ${note.index}`,
      `${size}: ${note.marks.map((mark) => mark.replace("_", "-")).join(", ")}`,
    ]);
  }
  if (argv.furtherNotes > 0) rows.push(["! tokens", `${argv.furtherNotes} more need a close look`]);
  rows.push(
    ["cwd", quoted(request.cwd)],
    ["timeout", `${request.timeoutMs / 1000} s`],
    ["profile", quoted(record.profile)],
    ["image", quoted(record.imageDigest)],
  );
  const label = decision.effectiveLabel;
  if (label !== undefined) {
    const categories = label.categories.length === 0 ? "no categories" : renderArgv(label.categories).summary;
    rows.push(["label", `${quoted(label.sensitivity)}, ${quoted(label.trust)}, ${categories}`]);
  }
  for (const reason of why) {
    const rule = reason.ruleId === null ? "" : ` rule ${reason.ruleId}`;
    rows.push(["asked by", `${reason.layer}${rule}: ${reason.reason} (${reason.code})`]);
    if (reason.vector !== null) rows.push(["  about", reason.vector]);
  }
  for (const each of inner) {
    rows.push([each.certain ? "runs" : "may run", `${each.argv} via ${each.via}`]);
  }
  if (furtherInner > 0) rows.push(["runs", `${furtherInner} more inner commands not shown`]);
  const files = approval?.files ?? [];
  for (const file of files.slice(0, MAX_FILES)) rows.push(["file", fileLine(file)]);
  if (files.length > MAX_FILES) rows.push(["file", `${files.length - MAX_FILES} more files not shown`]);
  if (request.reason !== null) rows.push(["they say", shortQuoted(request.reason)]);
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n");
}

function fileLine({ path, sha256 }: BoundFile): string {
  return `${quoted(path)} ${sha256 === null ? "does not exist yet" : `sha256:${sha256}`}`;
}

function quoted(text: string): string {
  return `"${safeText(text).text}"`;
}

/** One text in the bounded form of a token. */
function shortQuoted(text: string): string {
  return renderArgv([text]).summary.slice(1, -1);
}
