/**
 * An orchestrator: ten agent sessions work through the files of one workspace side by side.
 *
 *   BAILIFF_URL=http://127.0.0.1:8080 BAILIFF_API_KEY=… npx tsx examples/orchestrator.ts WORKSPACE
 */
import { byEffect, createBailiffClient } from "bailiff/client";

const SESSIONS = 10;
const [workspace = "main"] = process.argv.slice(2);
const bailiff = createBailiffClient({
  url: process.env["BAILIFF_URL"] ?? "http://127.0.0.1:8080",
  key: process.env["BAILIFF_API_KEY"] ?? "",
});

/** Runs one command and gives its stdout; everything else is said and counts as no answer. */
async function stdoutOf(sessionId: string, argv: readonly string[]): Promise<string | null> {
  const command = await bailiff.commands.run(sessionId, { argv, timeout_s: 60 });
  const give = (why: string) => {
    console.log(`${JSON.stringify(argv)}: ${why}`);
    return null;
  };
  return byEffect(command, {
    completed: ({ returncode, stdout }) => (returncode === 0 ? stdout : give(`exit ${returncode}`)),
    none: ({ outcome }) => give(outcome),
    unknown: ({ outcome }) => give(`${outcome}: its effect is not known`),
  });
}

// Each session has an authority of its own: when one is used up or revoked, the others work on.
const sessions = await Promise.all(
  Array.from({ length: SESSIONS }, () =>
    bailiff.sessions.open({ workspace_id: workspace, grant: { level: "allowlist", dispatches: 50 } }),
  ),
);
try {
  const [first] = sessions;
  const listed = first === undefined ? null : await stdoutOf(first.session_id, ["ls", "-p"]);
  const files = (listed ?? "").split("\n").filter((name) => name !== "" && !name.endsWith("/"));
  let lines = 0;
  await Promise.all(
    sessions.map(async ({ session_id }) => {
      for (let file = files.pop(); file !== undefined; file = files.pop()) {
        const counted = await stdoutOf(session_id, ["wc", "-l", file]);
        lines += Number.parseInt(counted ?? "0", 10);
      }
    }),
  );
  console.log(`${lines} lines`);
} finally {
  await Promise.all(sessions.map(({ session_id }) => bailiff.sessions.close(session_id)));
}
