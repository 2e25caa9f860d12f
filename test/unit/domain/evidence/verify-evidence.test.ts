import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { writeEvidenceLine } from "../../../../src/domain/evidence/evidence-line.js";
import {
  type ChainedRecord,
  chainRecord,
  recordHash,
} from "../../../../src/domain/evidence/evidence-record.js";
import { chainOf, linesOf, sealOf, signingKeys, verifyLines } from "../../../support/evidence.js";

const { privateKey, publicKey } = signingKeys();
const COUNT = 9;
const records = chainOf("acme", COUNT);
const foreign = chainOf("globex", COUNT);
const lines = linesOf(records, privateKey, [4, COUNT]);
const recordLines = lines.flatMap((line, index) => (line.startsWith('{"hash"') ? [index] : []));

const codes = (given: readonly string[]) =>
  verifyLines(given, publicKey, "acme").findings.map(({ code }) => code);
const anyRecordLine = fc.constantFrom(...recordLines);
const anyLine = fc.nat(lines.length - 1);

describe("a chain as it was written", () => {
  it("is intact, and sealed up to its last checkpoint", () => {
    expect(verifyLines(lines, publicKey)).toEqual({
      intact: true,
      tenant: "acme",
      records: COUNT,
      firstSeq: 1,
      lastSeq: COUNT,
      checkpoints: 2,
      sealedSeq: COUNT,
      findings: [],
      moreFindings: 0,
    });
  });

  it("is intact wherever its checkpoints stand among the records", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...recordLines.keys()], { maxLength: 3 }), (sealed) => {
        const seqs = sealed.map((index) => index + 1);
        const written = linesOf(records, privateKey, []);
        const seals = seqs.map((seq) =>
          writeEvidenceLine(sealOf(privateKey, records[seq - 1] as ChainedRecord)),
        );
        const verified = verifyLines([...seals, ...written], publicKey);
        expect(verified.intact).toBe(true);
        expect(verified.sealedSeq).toBe(Math.max(0, ...seqs));
      }),
    );
  });

  it("is intact behind a signed cut, and not behind a cut that nobody signed", () => {
    const cut = writeEvidenceLine(sealOf(privateKey, records[3] as ChainedRecord, "cut"));
    const seal = writeEvidenceLine(sealOf(privateKey, records[3] as ChainedRecord));
    const rest = records.slice(4).map(writeEvidenceLine);
    expect(codes([cut, ...rest])).toEqual([]);
    expect(codes([seal, ...rest])).toEqual(["start_missing"]);
    expect(codes(rest)).toEqual(["start_missing"]);
  });
});

describe("every single change is found", () => {
  it("an edited byte, wherever it is", () => {
    fc.assert(
      fc.property(anyLine, fc.nat(), fc.integer({ min: 32, max: 126 }), (index, at, code) => {
        const line = lines[index] ?? "";
        const position = at % line.length;
        const character = String.fromCharCode(code);
        fc.pre(line[position] !== character);
        const edited = line.slice(0, position) + character + line.slice(position + 1);
        expect(codes(lines.with(index, edited))).not.toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("an added, removed or doubled byte", () => {
    fc.assert(
      fc.property(anyLine, fc.nat(), fc.constantFrom("", " ", "0", "\t", "xx"), (index, at, text) => {
        const line = lines[index] ?? "";
        const position = at % line.length;
        const edited = line.slice(0, position) + text + line.slice(position + (text === "" ? 1 : 0));
        expect(codes(lines.with(index, edited))).not.toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it("an edited member whose record got a new hash", () => {
    fc.assert(
      fc.property(
        fc.nat(COUNT - 1),
        fc.constantFrom("principal", "command_id", "time", "kind"),
        (index, member) => {
          const record = { ...(records[index] as ChainedRecord).record, [member]: "other" };
          const edited = writeEvidenceLine({ record, hash: recordHash(record) } as ChainedRecord);
          expect(codes(lines.with(recordLines[index] ?? 0, edited))).not.toEqual([]);
        },
      ),
    );
  });

  it("a dropped record, also the first and the last", () => {
    for (const index of recordLines)
      expect(codes(lines.toSpliced(index, 1)), `line ${index}`).not.toEqual([]);
  });

  it("a run of dropped records", () => {
    fc.assert(
      fc.property(fc.nat(COUNT - 1), fc.integer({ min: 1, max: COUNT }), (from, count) => {
        const kept = lines.filter((_, index) => {
          const at = recordLines.indexOf(index);
          return at === -1 || at < from || at >= from + count;
        });
        expect(codes(kept)).not.toEqual([]);
      }),
    );
  });

  it("an end cut off, where a checkpoint covers it", () => {
    for (let kept = 0; kept < COUNT; kept += 1) {
      const last = lines.at(-1) ?? "";
      expect(codes([...records.slice(0, kept).map(writeEvidenceLine), last])).toContain("end_missing");
    }
  });

  it("two records that changed places", () => {
    fc.assert(
      fc.property(anyRecordLine, anyRecordLine, (one, other) => {
        fc.pre(one !== other);
        const swapped = lines.with(one, lines[other] ?? "").with(other, lines[one] ?? "");
        expect(codes(swapped)).not.toEqual([]);
      }),
    );
  });

  it("a record that is there twice", () => {
    fc.assert(
      fc.property(anyRecordLine, fc.nat(lines.length), (from, to) => {
        expect(codes(lines.toSpliced(to, 0, lines[from] ?? ""))).toContain("record_out_of_order");
      }),
    );
  });

  it("a record of one's own, bound to the one before it", () => {
    for (let index = 0; index < COUNT - 1; index += 1) {
      const { record, hash } = records[index] as ChainedRecord;
      const forged = chainRecord({ seq: record.seq, hash }, { ...record, principal: "forged" });
      const at = (recordLines[index] ?? 0) + 1;
      expect(codes(lines.toSpliced(at, 0, writeEvidenceLine(forged)))).not.toEqual([]);
    }
  });

  it("a record or a checkpoint of another tenant", () => {
    fc.assert(
      fc.property(anyRecordLine, fc.nat(COUNT - 1), fc.boolean(), (at, index, replaces) => {
        const spliced = writeEvidenceLine(foreign[index] as ChainedRecord);
        expect(codes(lines.toSpliced(at, replaces ? 1 : 0, spliced))).toContain("other_tenant");
        const seal = writeEvidenceLine(sealOf(privateKey, foreign[index] as ChainedRecord));
        expect(codes([...lines, seal])).toEqual(["other_tenant"]);
      }),
    );
  });

  it("a chain computed anew from any record on, up to the last checkpoint", () => {
    for (let from = 0; from < COUNT; from += 1) {
      const before = records.slice(0, from);
      const last = before.at(-1);
      let head = { seq: from, hash: last?.hash ?? "0".repeat(64) };
      const forged = records.slice(from).map(({ record }) => {
        const next = chainRecord(head, { ...record, principal: "forged" });
        head = { seq: next.record.seq, hash: next.hash };
        return next;
      });
      const seals = lines.filter((line) => line.startsWith('{"checkpoint"'));
      const rewritten = [...[...before, ...forged].map(writeEvidenceLine), ...seals];
      expect(codes(rewritten)).toContain("checkpoint_contradicts");
    }
  });

  it("a checkpoint by another key, known or not", () => {
    const other = signingKeys();
    const seal = sealOf(other.privateKey, records[COUNT - 1] as ChainedRecord);
    expect(codes([...lines, writeEvidenceLine(seal)])).toEqual(["key_unknown"]);
    const { key_id } = sealOf(privateKey, records[0] as ChainedRecord).checkpoint;
    const posing = { ...seal, checkpoint: { ...seal.checkpoint, key_id } };
    expect(codes([...lines, writeEvidenceLine(posing)])).toEqual(["signature_invalid"]);
  });
});

describe("what a chain alone can't tell", () => {
  it("is an end that no checkpoint covers: it shows in the number that is sealed", () => {
    const unsealed = linesOf(records, privateKey, [4]);
    const verified = verifyLines(unsealed.slice(0, -2), publicKey);
    expect(verified).toMatchObject({ intact: true, lastSeq: COUNT - 2, sealedSeq: 4 });
  });

  it("is a record added behind the last checkpoint: it shows as not sealed", () => {
    const { record, hash } = records[COUNT - 1] as ChainedRecord;
    const forged = chainRecord({ seq: record.seq, hash }, { ...record, principal: "forged" });
    const verified = verifyLines([...lines, writeEvidenceLine(forged)], publicKey);
    expect(verified).toMatchObject({ intact: true, lastSeq: COUNT + 1, sealedSeq: COUNT });
  });
});

describe("evidence of another tenant than the one asked for", () => {
  it("is one finding, with their number and whose the first is", () => {
    const { findings } = verifyLines(lines, publicKey, "globex");
    expect(findings).toEqual([
      {
        code: "other_tenant",
        line: 1,
        seq: 1,
        message: `${lines.length} lines from here on are not of globex; the first is of "acme"`,
      },
    ]);
  });
});

describe("hostile lines", () => {
  it("are findings, whatever they hold", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(codes([...lines, text])).not.toEqual([]);
      }),
    );
    expect(codes([...lines, `{"record":${"[".repeat(100_000)}`])).toEqual(["line_invalid"]);
  });

  it("are not listed without end", () => {
    const verified = verifyLines(new Array(5_000).fill("x"), publicKey);
    expect([verified.findings.length, verified.moreFindings]).toEqual([1_000, 4_000]);
  });
});
