import { join } from "node:path";
import { countLines, expectedStatus, fillWorkspace } from "./demo-workspace.mjs";
import { createHttpClient } from "./http-client.mjs";

const workspaceId = "demo";
const shownLines = 12;

/**
 * The main job, as a caller does it: a workspace with this repository's history, a session, the commands that run
 * and two that are refused. Prints every answer and returns what differs from what it must be.
 */
export async function runDemo({ url, apiKey, tenant, workspacesRoot, print }) {
  const call = createHttpClient(url, apiKey);
  const differences = [];
  const expect = (what, holds) => {
    print(`  ${holds ? "✓" : "✗"} ${what}\n`);
    if (!holds) differences.push(what);
  };

  await endOldSessions(call);
  const old = await call("DELETE", `/v1/workspaces/${workspaceId}`);
  if (![204, 200, 404].includes(old.status)) throw unexpected("DELETE workspace", old);
  const workspace = await call("PUT", `/v1/workspaces/${workspaceId}`, undefined);
  if (workspace.status !== 201) throw unexpected("PUT workspace", workspace);
  const directory = join(workspacesRoot, tenant, workspaceId);
  await fillWorkspace(directory, workspace.body);
  print(
    `\nWorkspace ${workspaceId} holds this repository's history and belongs to uid ${workspace.body.uid}.\n`,
  );

  const unittest = ["python3", "-m", "unittest", "-v"];
  const session = await call("POST", "/v1/sessions", {
    workspace_id: workspaceId,
    // Running workspace code is an ask by default. The operator grants exactly this vector, once.
    grant: { dispatches: 20, vectors: [{ argv: unittest, match: "exact", uses: 1 }] },
  });
  if (session.status !== 201) throw unexpected("POST session", session);
  const sessionPath = `/v1/sessions/${session.body.session_id}`;

  const submit = async (argv) => {
    print(`\n→ ${JSON.stringify(argv)}\n`);
    const answer = await call("POST", `${sessionPath}/commands?wait=60`, { argv, timeout_s: 60 });
    print(describe(answer));
    return answer;
  };
  const completed = (answer, returncode) => {
    expect(
      `completed with returncode ${returncode}, nothing truncated`,
      [200, 201].includes(answer.status) &&
        answer.body.outcome === "completed" &&
        answer.body.effect === "completed" &&
        answer.body.returncode === returncode &&
        answer.body.stdout_truncated === false &&
        answer.body.stderr_truncated === false,
    );
  };

  const status = await submit(["git", "status", "--short"]);
  completed(status, 0);
  expect("says which file is changed and which is new", status.body.stdout === expectedStatus);

  const exports = await submit(["rg", "-n", "--count", "export", "src"]);
  completed(exports, 0);
  const counted = await countLines(directory, "src", "export");
  const wanted = [...counted].map(([path, count]) => `${path}:${count}`).sort();
  const got = (exports.body.stdout ?? "").split("\n").filter(Boolean).sort();
  expect(`counts ${wanted.length} files as they are`, JSON.stringify(got) === JSON.stringify(wanted));

  const moved = await call("PUT", `${sessionPath}/cwd`, { path: "fixtures/python-project" });
  print(`\n→ PUT cwd fixtures/python-project: ${moved.status} ${moved.body?.cwd ?? moved.body?.code}\n`);
  expect("the session moved", moved.status === 200 && moved.body.cwd === "fixtures/python-project");

  const tests = await submit(unittest);
  completed(tests, 0);
  expect(
    "all 6 tests of the Python project ran and passed",
    /Ran 6 tests[\s\S]*\nOK\n$/.test(tests.body.stderr ?? ""),
  );

  const literal = await submit(["echo", "$HOME", "*", "|", "; true"]);
  completed(literal, 0);
  expect("no shell read the words", literal.body.stdout === "$HOME * | ; true\n");

  const removal = await submit(["rm", "-rf", "/"]);
  denied(removal, expect);
  const push = await submit(["git", "push", "origin", "main"]);
  denied(push, expect);

  await call("DELETE", sessionPath);
  return differences;
}

/** A demo that was cut off may have left a session, and a workspace in use is not removed. */
async function endOldSessions(call) {
  let cursor = "";
  do {
    const page = await call(
      "GET",
      `/v1/sessions?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    if (page.status !== 200) throw unexpected("GET sessions", page);
    for (const session of page.body.sessions) {
      if (session.workspace_id !== workspaceId) continue;
      const ended = await call("DELETE", `/v1/sessions/${session.session_id}`);
      if (![204, 404].includes(ended.status)) throw unexpected("DELETE session", ended);
    }
    cursor = page.body.next_cursor ?? "";
  } while (cursor !== "");
}

function denied(answer, expect) {
  expect(
    "denied, and nothing ran",
    answer.status === 403 && answer.body.code === "denied" && answer.body.decision?.verdict === "deny",
  );
}

function describe({ status, body }) {
  if (body?.decision?.verdict === "deny" && status === 403) {
    const layer = body.decision.layers.find((candidate) => candidate.verdict === "deny");
    return `← ${status} ${body.code}: ${body.detail}\n    by ${layer?.layer} (${layer?.code}): ${layer?.reason}\n`;
  }
  if (body?.outcome === undefined) return `← ${status} ${JSON.stringify(body)}\n`;
  const members = ["command_id", "state", "outcome", "effect", "returncode", "duration_ms"];
  const shown = JSON.stringify(Object.fromEntries(members.map((name) => [name, body[name]])));
  const detail =
    body.outcome === "completed" ? "" : `    ${body.detail ?? ""} ${JSON.stringify(body.start_failure)}\n`;
  return `← ${status} ${shown}\n${detail}${stream("stdout", body.stdout)}${stream("stderr", body.stderr)}`;
}

function stream(name, text) {
  if (!text) return "";
  const lines = text.replace(/\n$/, "").split("\n");
  const rest = lines.length - shownLines;
  const more = rest > 0 ? `    ${name}  … and ${rest} more lines\n` : "";
  return `${lines
    .slice(0, shownLines)
    .map((line) => `    ${name}  ${line}\n`)
    .join("")}${more}`;
}

function unexpected(what, { status, body }) {
  return new Error(`${what} answered ${status}: ${JSON.stringify(body)}`);
}
