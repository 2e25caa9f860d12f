import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { commandSchema, deliverySchema } from "../../../../src/contract/commands.js";
import { auditPageSchema } from "../../../../src/contract/evidence.js";
import { explanationSchema } from "../../../../src/contract/policy.js";
import { principalSchema } from "../../../../src/contract/principal.js";
import { problemSchema } from "../../../../src/contract/problems.js";
import { createdSessionSchema, sessionSchema } from "../../../../src/contract/sessions.js";
import { sourceObjectSchema } from "../../../../src/contract/source-objects.js";
import { fleetSchema } from "../../../../src/contract/workers.js";
import { archiveReceiptSchema, workspaceSchema } from "../../../../src/contract/workspaces.js";
import { signDelivery } from "../../../../src/domain/webhook/webhook-signature.js";
import { errorsPage } from "../../../support/http/errors-page.js";
import { createTestApp, KEYS } from "../../../support/http/test-app.js";

const page = readFileSync(new URL("../../../../docs/api.md", import.meta.url), "utf8");
const blocks = [...page.matchAll(/```(\w+)(?: (\w+))?\n([\s\S]*?)```/g)].map(([, language, label, text]) => ({
  language: language ?? "",
  label: label ?? "",
  text: text ?? "",
}));

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  ArchiveReceipt: archiveReceiptSchema,
  AuditPage: auditPageSchema,
  Command: commandSchema,
  CreatedSession: createdSessionSchema,
  Delivery: deliverySchema,
  Explanation: explanationSchema,
  Fleet: fleetSchema,
  Principal: principalSchema,
  Problem: problemSchema,
  Session: sessionSchema,
  SourceObject: sourceObjectSchema,
  Workspace: workspaceSchema,
};

describe("docs/errors.md", () => {
  it("says what the error table says", () =>
    expect(errorsPage()).toMatchFileSnapshot("../../../../docs/errors.md"));
});

describe("docs/api.md", () => {
  it("shows requests that the service takes, in an order that works", async () => {
    const edge = await createTestApp();
    let session = "";
    let command = "";
    const requests = blocks.filter((block) => block.language === "http");
    expect(requests.length).toBeGreaterThan(10);
    for (const { text } of requests) {
      const [head = "", ...rest] = text.trim().split("\n");
      const [method = "", path = ""] = head.split(" ");
      const split = rest.findIndex((line) => line.startsWith("{"));
      const headerLines = split === -1 ? rest : rest.slice(0, split);
      const body = split === -1 ? undefined : rest.slice(split).join("\n");
      const url = path.replace(/ses_\w+/, session).replace(/cmd_\w+/, command);
      const headers = Object.fromEntries(headerLines.map((line) => line.split(": ", 2)));
      const sent = body?.replace(/ses_\w+/, session);
      const response = await edge.call(KEYS.admin, method, url, sent, headers);
      expect(response.statusCode, `${head}: ${response.body}`).toBeLessThan(400);
      const answer = response.body.startsWith("{")
        ? response.json<{ session_id?: string; command_id?: string }>()
        : {};
      if (path === "/v1/sessions" && method === "POST") session = answer.session_id ?? "";
      command = answer.command_id ?? command;
    }
    await edge.app.close();
  });

  it("shows how to verify a delivery, in code that does", async () => {
    const code = blocks.find((block) => block.language === "js")?.text ?? "";
    const { isFromBailiff } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    const body = '{"stdout":"\u00e9"}';
    const header = signDelivery("whsec_x", 1_700_000_000, body);
    const verify = (secret: string, signature: string, raw: string, nowSeconds: number) =>
      isFromBailiff(secret, signature, Buffer.from(raw), nowSeconds);
    expect(verify("whsec_x", header, body, 1_700_000_010)).toBe(true);
    expect(verify("whsec_y", header, body, 1_700_000_010)).toBe(false);
    expect(verify("whsec_x", header, `${body} `, 1_700_000_010)).toBe(false);
    expect(verify("whsec_x", header.replace("t=17", "t=18"), body, 1_800_000_000)).toBe(false);
    expect(verify("whsec_x", header, body, 1_700_000_301)).toBe(false);
    expect(verify("whsec_x", "", body, 1_700_000_010)).toBe(false);
  });

  it("shows answers as the service gives them", () => {
    const answers = blocks.filter((block) => block.language === "json");
    expect(answers.length).toBeGreaterThan(4);
    for (const { label, text } of answers) {
      const schema = SCHEMAS[label];
      if (schema === undefined) throw new Error(`no schema for ${label}`);
      expect(() => schema.parse(JSON.parse(text)), text).not.toThrow();
    }
  });
});
