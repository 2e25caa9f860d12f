/**
 * A minimal agent: a model proposes a command, Bailiff decides and runs it, the model hears what became of it.
 *
 *   BAILIFF_URL=http://127.0.0.1:8080 BAILIFF_API_KEY=… npx tsx examples/agent-loop.ts WORKSPACE
 */
import { BailiffProblem, byEffect, createBailiffClient, isFinished, type Submission } from "bailiff/client";

/** What the model is told. After `denied` and `unknown` it may not try the same thing again. */
interface Observation {
  readonly kind: "start" | "done" | "denied" | "not_started" | "unknown";
  readonly text: string;
}

/** Stands for a real model: what it would do next, given what it has seen. Null when it has finished. */
function createScriptedModel(): (seen: Observation) => Submission | null {
  const plan: ((seen: Observation) => Submission)[] = [
    () => ({ argv: ["ls"] }),
    () => ({ argv: ["rm", "-rf", "build"] }),
    // It was denied: that is final, so the model builds on top of what is there.
    () => ({ argv: ["sh", "build.sh"], timeout_s: 60, reason: "build on top of the old output" }),
    () => ({ argv: ["sh", "endless.sh"], timeout_s: 1, reason: "run the tests" }),
    // It was killed: how far did it get?
    (seen) => ({ argv: seen.kind === "unknown" ? ["cat", "progress.txt"] : ["ls"] }),
  ];
  return (seen) => plan.shift()?.(seen) ?? null;
}

const [workspace = "main"] = process.argv.slice(2);
const bailiff = createBailiffClient({
  url: process.env["BAILIFF_URL"] ?? "http://127.0.0.1:8080",
  key: process.env["BAILIFF_API_KEY"] ?? "",
});

async function perform(sessionId: string, submission: Submission): Promise<Observation> {
  try {
    const submitted = await bailiff.commands.submit(sessionId, submission, { waitS: 20 });
    if (submitted.state === "awaiting_approval")
      console.log(`  waits for a person: ${submitted.approval_id}`);
    const command = isFinished(submitted)
      ? submitted
      : await bailiff.commands.wait(submitted.command_id, { timeoutMs: 15 * 60_000 });
    return byEffect<Observation, Observation, Observation>(command, {
      completed: ({ returncode, stdout }) => ({ kind: "done", text: `exit ${returncode}: ${stdout.trim()}` }),
      none: ({ outcome }) => ({ kind: "not_started", text: outcome }),
      unknown: ({ outcome }) => ({ kind: "unknown", text: `${outcome}: look before doing anything again` }),
    });
  } catch (error) {
    if (error instanceof BailiffProblem && error.code === "denied")
      return { kind: "denied", text: error.message };
    throw error;
  }
}

const model = createScriptedModel();
const { session_id } = await bailiff.sessions.open({
  workspace_id: workspace,
  grant: { level: "allowlist", dispatches: 20 },
});
try {
  let seen: Observation = { kind: "start", text: "" };
  for (let next = model(seen); next !== null; next = model(seen)) {
    console.log(JSON.stringify(next.argv));
    seen = await perform(session_id, next);
    console.log(`  ${seen.kind}: ${seen.text}`);
  }
} finally {
  // What it left unfinished is cancelled with its session.
  await bailiff.sessions.close(session_id);
}
