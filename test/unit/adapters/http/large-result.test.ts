import { expect, it } from "vitest";
import { commandSchema } from "../../../../src/contract/commands.js";
import { completedResult, SLOW_ARGV0 } from "../../../support/http/in-memory-services.js";
import { createTestApp, KEYS } from "../../../support/http/test-app.js";

it("a result of a mebibyte, control characters and lone surrogates included, is valid JSON and whole", async () => {
  const edge = await createTestApp();
  const session = await edge.openSession();
  const submitted = await edge.call(KEYS.red, "POST", `/v1/sessions/${session}/commands`, {
    argv: [SLOW_ARGV0],
  });
  const id = submitted.json<{ command_id: string }>().command_id;
  const record = edge.services.commands.get(id);
  if (record === undefined) throw new Error("missing");
  const output = `\u0000\u001b[31m\ud800${"─".repeat(350_000)}`;
  edge.services.commands.set(id, { ...record, state: "finished", result: completedResult(output) });
  const response = await edge.call(KEYS.red, "GET", `/v1/commands/${id}`);
  expect(response.statusCode).toBe(200);
  expect(commandSchema.parse(response.json()).stdout).toBe(output);
  await edge.app.close();
});
