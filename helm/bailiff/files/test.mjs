// Asks a release whether it is ready and, with a key, has it run one real command.
import { readFileSync } from "node:fs";

const { BAILIFF_URL: url, BAILIFF_API_KEY_FILE: keyFile, TEST_WORKSPACE: workspace } = process.env;
const key = keyFile === undefined ? null : readFileSync(keyFile, "utf8").trim();

async function call(method, path, body) {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(70_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

await call("GET", "/readyz");
console.log("the API is ready");
if (key !== null) {
  await call("PUT", `/v1/workspaces/${workspace}`);
  const { session_id: session } = await call("POST", "/v1/sessions", { workspace_id: workspace });
  const result = await call("POST", `/v1/sessions/${session}/commands?wait=60`, { argv: ["echo", "$HOME", "*"] });
  await call("DELETE", `/v1/sessions/${session}`);
  if (result.outcome !== "completed" || result.stdout !== "$HOME *\n") {
    throw new Error(`the command ended otherwise: ${JSON.stringify(result)}`);
  }
  console.log("a worker ran a command in a container");
}
