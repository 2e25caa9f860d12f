import { createPublicKey, type KeyObject } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { createBailiffClient } from "../client/index.js";
import { keyIdOf, type SignedCheckpoint } from "../domain/evidence/checkpoint.js";
import { evidenceFilesOf } from "../domain/evidence/evidence-file-name.js";
import { writeEvidenceLine } from "../domain/evidence/evidence-line.js";
import type { ChainedRecord } from "../domain/evidence/evidence-record.js";
import { createEvidenceVerifier, type Verification } from "../domain/evidence/verify-evidence.js";
import { type CliCall, type CliCommand, UsageError } from "./cli-command.js";
import { keyOf, SERVICE_OPTIONS, urlOf } from "./service-options.js";
import { escapeForTerminal } from "./terminal-text.js";

/** Exit status of evidence that was changed. */
const TAMPERED = 3;
/** Exit status of evidence that is intact but not signed up to its end, where that was asked for. */
const UNSEALED = 4;
const PAGE = 200;
const NEWLINE = 0x0a;

const pageSchema = z.object({
  records: z.array(z.object({ hash: z.string(), record: z.looseObject({ seq: z.int() }) })),
  checkpoints: z.array(z.object({ checkpoint: z.looseObject({}), signature: z.string() })),
  next_cursor: z.string().nullable(),
});

/** What the audit commands need of the world. */
export interface AuditDeps {
  readonly fetch: typeof fetch;
  /** The deployment's public key in PEM, from its configuration. */
  readonly publicKey: (configPath: string | null) => Promise<string>;
}

/** `bailiff audit verify`, `audit export` and `audit public-key`. */
export function createAuditCommands(deps: AuditDeps): readonly CliCommand[] {
  return [
    {
      name: "audit verify",
      summary: "Find every record of evidence that was changed, with the public key alone.",
      operands: "FILE...|DIR|URL",
      operandsAfterDashes: false,
      options: {
        "public-key": { value: "FILE", summary: "One or more public keys in PEM." },
        tenant: {
          value: "NAME",
          summary:
            "The tenant it must be of; else whichever the first line is of. Needed for a directory of several.",
        },
        sealed: {
          value: null,
          summary: `Also ask that its last record is signed; status ${UNSEALED} if not.`,
        },
        json: { value: null, summary: "Print the whole verdict as JSON." },
        "key-file": SERVICE_OPTIONS["key-file"],
      },
      statuses: [
        [0, "Nothing was changed."],
        [TAMPERED, "Something was: each finding is a line."],
        [UNSEALED, "With --sealed: the last records are not signed."],
        [1, "It can't be read."],
      ],
      async run(call) {
        const [first] = call.operands;
        if (first === undefined) throw new UsageError("takes files in their order, a directory or a URL");
        const keyFile = call.values["public-key"];
        if (keyFile === undefined) throw new UsageError("--public-key is required");
        const verifier = createEvidenceVerifier({
          publicKeys: readPublicKeys(await readFile(keyFile, "utf8")),
          tenant: call.values["tenant"] ?? null,
        });
        const isService = /^https?:\/\//.test(first);
        if (isService && call.operands.length > 1)
          throw new UsageError("takes one URL, and no file beside it");
        const sources = isService ? [first] : await filesOf(call.operands, call.values["tenant"] ?? null);
        const places = createLinePlaces();
        for (const source of sources) {
          places.begin(source);
          const lines = isService ? linesOfService(source, call, deps.fetch) : linesOfFile(source);
          for await (const line of lines) {
            places.next();
            verifier.take(line);
          }
        }
        const verdict = verifier.end();
        report(verdict, call, sources.length > 1 ? places.of : (line) => `line ${line}`);
        if (!verdict.intact) return TAMPERED;
        return call.switches.has("sealed") && verdict.sealedSeq !== (verdict.lastSeq ?? 0) ? UNSEALED : 0;
      },
    },
    {
      name: "audit export",
      summary: "Print the tenant's evidence as lines that `audit verify` takes.",
      operands: null,
      operandsAfterDashes: false,
      options: {
        url: SERVICE_OPTIONS.url,
        "key-file": SERVICE_OPTIONS["key-file"],
      },
      statuses: [],
      async run(call) {
        for await (const line of linesOfService(urlOf(call), call, deps.fetch))
          call.world.stdout.write(`${line}\n`);
        return 0;
      },
    },
    {
      name: "audit public-key",
      summary: "Print the public key that checkpoints are verified with.",
      operands: null,
      operandsAfterDashes: false,
      options: {
        config: { value: "FILE", summary: "Configuration file; else BAILIFF_CONFIG, else the defaults." },
        json: { value: null, summary: "Print the key's id and the PEM text as JSON." },
      },
      statuses: [],
      async run({ values, switches, world }) {
        const pem = await deps.publicKey(values["config"] ?? world.env["BAILIFF_CONFIG"] ?? null);
        const asJson = () =>
          `${JSON.stringify({ key_id: keyIdOf(createPublicKey(pem)), public_key: pem })}\n`;
        world.stdout.write(switches.has("json") ? asJson() : pem);
        return 0;
      },
    },
  ];
}

function readPublicKeys(text: string): readonly KeyObject[] {
  // SAFETY: a private key would serve as its public half, and its owner would go on handing it out.
  if (text.includes("PRIVATE KEY")) throw new UsageError("--public-key holds a private key");
  const blocks = text.match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g) ?? [];
  const keys = blocks.map((block) => createPublicKey(block));
  if (keys.length === 0 || keys.some((key) => key.asymmetricKeyType !== "ed25519"))
    throw new UsageError("--public-key holds no Ed25519 public key in PEM, or another one beside it");
  return keys;
}

/** Lines end at a newline and nowhere else; a byte that is not UTF-8 makes a line that no record has. */
async function* linesOfFile(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decode = (bytes: Uint8Array): string => {
    try {
      return decoder.decode(bytes);
    } catch {
      return "not UTF-8";
    }
  };
  let pending: Buffer[] = [];
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, start)) {
      yield decode(Buffer.concat([...pending, chunk.subarray(start, at)]));
      pending = [];
      start = at + 1;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
  }
  if (pending.length > 0) yield decode(Buffer.concat(pending));
}

async function* linesOfService(url: string, call: CliCall, fetchOf: typeof fetch): AsyncGenerator<string> {
  if (!URL.canParse(url)) throw new UsageError("the URL is not one");
  const { evidence } = createBailiffClient({ url, key: await keyOf(call), fetch: fetchOf });
  for await (const answer of evidence.pages({ limit: PAGE })) {
    const page = pageSchema.parse(answer);
    for (const signed of page.checkpoints) yield writeEvidenceLine(signed as unknown as SignedCheckpoint);
    for (const chained of page.records) yield writeEvidenceLine(chained as unknown as ChainedRecord);
  }
}

/** Where the lines of several files are: verification counts them through. */
function createLinePlaces() {
  const begins: { readonly source: string; readonly before: number }[] = [];
  let lines = 0;
  return {
    begin(source: string) {
      begins.push({ source, before: lines });
    },
    next() {
      lines += 1;
    },
    of(line: number): string {
      const place = begins.findLast(({ before }) => before < line);
      return place === undefined ? `line ${line}` : `${place.source} line ${line - place.before}`;
    },
  };
}

/** The files that operands name: themselves in their order, or those of one tenant in a directory. */
async function filesOf(operands: readonly string[], tenant: string | null): Promise<readonly string[]> {
  const [first = "", ...more] = operands;
  if (!(await stat(first)).isDirectory()) return operands;
  if (more.length > 0) throw new UsageError("takes one directory, and no file beside it");
  const files = evidenceFilesOf(await readdir(first), tenant);
  const tenants = [...new Set(files.map((file) => file.tenant))];
  if (tenants.length > 1)
    throw new UsageError(`holds several tenants, name one: --tenant ${tenants.join(" or ")}`);
  if (files.length === 0)
    throw new Error(`${first} holds no evidence${tenant === null ? "" : ` of ${tenant}`}`);
  return files.map(({ name }) => join(first, name));
}

function report(
  verdict: Verification,
  { world, switches }: CliCall,
  placeOf: (line: number) => string,
): void {
  if (switches.has("json")) {
    world.stdout.write(`${JSON.stringify(verdict)}\n`);
    return;
  }
  for (const { code, line, message } of verdict.findings) {
    world.stdout.write(
      `${escapeForTerminal(`${line === null ? "end" : placeOf(line)}: ${code}: ${message}`)}\n`,
    );
  }
  if (verdict.moreFindings > 0) world.stdout.write(`and ${verdict.moreFindings} more findings\n`);
  const range = verdict.firstSeq === null ? "none" : `${verdict.firstSeq} to ${verdict.lastSeq}`;
  const unsealed = Math.max(0, (verdict.lastSeq ?? 0) - verdict.sealedSeq);
  world.stdout.write(
    `${verdict.intact ? "intact" : "CHANGED"}: ${verdict.records} records (${range}), ${verdict.checkpoints} checkpoints, ` +
      `${unsealed} records behind the last one\n`,
  );
}
