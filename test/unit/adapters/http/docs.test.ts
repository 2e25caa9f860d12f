import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { commandSchema } from "../../../../src/contract/commands.js";
import { explanationSchema } from "../../../../src/contract/policy.js";
import { problemSchema } from "../../../../src/contract/problems.js";
import { sessionSchema } from "../../../../src/contract/sessions.js";
import { workspaceSchema } from "../../../../src/contract/workspaces.js";
import { errorsPage } from "../../../support/http/errors-page.js";
import { createTestApp, KEYS } from "../../../support/http/test-app.js";

const page = readFileSync(new URL("../../../../docs/api.md", import.meta.url), "utf8");
const blocks = [...page.matchAll(/```(\w+)(?: (\w+))?\n([\s\S]*?)```/g)].map(([, language, label, text]) => ({
  language: language ?? "",
  label: label ?? "",
  text: text ?? "",
}));

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  Command: commandSchema,
  Explanation: explanationSchema,
  Problem: problemSchema,
  Session: sessionSchema,
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
