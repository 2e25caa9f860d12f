import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { capture } from "./setup/command.mjs";
import { root } from "./setup/paths.mjs";
import { auditVerdict, findFaults } from "./supply-chain/judge.mjs";

/** The lock files of everything that is installed: the project, the Node.js of the images, and the sandbox's npm. */
const sandboxFolder = "images/sandbox/npm";
const lockedFolders = [".", "images/node", sandboxFolder];

const AUDIT_LIMIT_MS = 60_000;

const readJson = async (...parts) => JSON.parse(await readFile(join(root, ...parts), "utf8"));

const faults = [];
let packages = 0;
for (const folder of lockedFolders) {
  const lock = await readJson(folder, "package-lock.json");
  packages += Object.keys(lock.packages).length - 1;
  const manifest = await readJson(folder, "package.json");
  for (const fault of findFaults(manifest, lock, { isSandbox: folder === sandboxFolder }))
    faults.push(`${folder}: ${fault}`);
}
for (const fault of faults) process.stdout.write(`FAIL  ${fault}\n`);
if (faults.length === 0) {
  process.stdout.write(`ok    ${packages} packages: exact versions, checksums, accepted licences\n`);
}

const audit = await capture("npm", ["audit", "--omit=dev", "--json"], {
  cwd: root,
  timeoutMs: AUDIT_LIMIT_MS,
});
const { status, text } = auditVerdict(audit.stdout);
process.stdout.write(`${text}\n`);
process.exitCode = faults.length > 0 || status === "vulnerable" ? 1 : 0;
