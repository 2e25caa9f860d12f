import { describe, expect, it } from "vitest";
import type { CommandEvidenceWire } from "../../../console/src/api/wire.js";
import { readEvidenceKey, verifyRecords } from "../../../console/src/evidence/verify-records.js";
import { chainedToWire, checkpointToWire } from "../../../src/contract/evidence.js";
import { chainOf, sealOf, signingKeys } from "../../support/evidence.js";

const { privateKey, publicKey } = signingKeys();
const pem = String(publicKey.export({ type: "spki", format: "pem" }));
const chain = chainOf("acme", 3);
const seal = checkpointToWire(sealOf(privateKey, chain[2] as NonNullable<(typeof chain)[2]>));

const evidence = (): CommandEvidenceWire =>
  structuredClone({
    command_id: "cmd_1",
    records: chain.map((each) => ({ ...chainedToWire(each), sealed_by: seal })),
    complete: true,
  });
const first = (given: CommandEvidenceWire) => given.records[1] as CommandEvidenceWire["records"][number];

describe("evidence, verified in a browser", () => {
  it("holds where nothing was changed, and is signed where the key says so", async () => {
    const verdicts = await verifyRecords(evidence(), await readEvidenceKey(pem));
    expect(verdicts).toEqual([
      { seq: 1, isWhole: true, isBound: null, seal: "signed" },
      { seq: 2, isWhole: true, isBound: true, seal: "signed" },
      { seq: 3, isWhole: true, isBound: true, seal: "signed" },
    ]);
    expect((await verifyRecords(evidence(), null))[0]?.seal).toBe("unchecked");
  });

  it("shows an edited record, a broken chain and a forged or foreign seal", async () => {
    const key = await readEvidenceKey(pem);
    const edited = evidence();
    first(edited).record.principal = "somebody";
    expect((await verifyRecords(edited, key))[1]).toMatchObject({ isWhole: false });
    const relinked = evidence();
    first(relinked).hash = "0".repeat(64);
    expect((await verifyRecords(relinked, key))[2]).toMatchObject({ isBound: false });
    const forged = evidence();
    first(forged).sealed_by = { ...seal, signature: "0".repeat(128) };
    expect((await verifyRecords(forged, key))[1]?.seal).toBe("broken");
    const other = await readEvidenceKey(
      String(signingKeys().publicKey.export({ type: "spki", format: "pem" })),
    );
    expect((await verifyRecords(evidence(), other))[1]?.seal).toBe("other_key");
    const unsealed = evidence();
    first(unsealed).sealed_by = null;
    expect((await verifyRecords(unsealed, key))[1]?.seal).toBe("unsigned");
  });

  it.each(["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "x"])(
    "takes no other text for a key: %j",
    async (text) => expect(readEvidenceKey(text)).rejects.toThrow(),
  );
});
