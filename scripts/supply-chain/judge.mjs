/** Licences under which Bailiff may pass a package on. */
const shippedLicences = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
  // Of the fonts of the console; they are passed on with it and not sold by themselves.
  "OFL-1.1",
  "Unlicense",
]);

/** Licences of tools that only build and test. */
const toolLicences = new Set([...shippedLicences, "CC0-1.0", "MPL-2.0", "Python-2.0"]);

/** Licences of programs that are put into the sandbox image as they are, like those of Debian. */
const sandboxLicences = new Set([...toolLicences, "Artistic-2.0", "CC-BY-3.0"]);

/** What a lock file does not say but the package itself does. */
const licencesByHand = {
  buildcheck: "MIT",
  "cpu-features": "MIT",
  "qrcode-terminal": "Apache-2.0",
  ssh2: "MIT",
};

/** What is wrong with a manifest and its lock file, one line per fault; `isSandbox` for what only commands may use. */
export function findFaults(manifest, lock, { isSandbox = false } = {}) {
  const faults = [];
  for (const group of ["dependencies", "devDependencies", "optionalDependencies"]) {
    for (const [name, range] of Object.entries(manifest[group] ?? {})) {
      if (!/^\d+\.\d+\.\d+$/.test(range)) faults.push(`${name} is not pinned: ${group} says ${range}`);
    }
  }
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path === "" || entry.link) continue;
    const name = path.replace(/^.*node_modules\//, "");
    // What comes inside another package is under that one's checksum.
    if (!entry.inBundle && !entry.integrity?.startsWith("sha512-"))
      faults.push(`${name}@${entry.version} has no SHA-512 checksum`);
    const licence = entry.license ?? licencesByHand[name] ?? "none named";
    const accepted = isSandbox ? sandboxLicences : entry.dev ? toolLicences : shippedLicences;
    if (!isAccepted(licence, accepted)) faults.push(`${name}@${entry.version} has the licence ${licence}`);
  }
  return faults;
}

/** One of the alternatives is enough; of licences that hold together, each has to be accepted. */
function isAccepted(licence, accepted) {
  return licence
    .replace(/[()]/g, "")
    .split(" OR ")
    .some((alternative) => alternative.split(" AND ").every((each) => accepted.has(each)));
}

/** What the answer of `npm audit --json` means. No answer is no verdict, and says so in words that stand out. */
export function auditVerdict(answer) {
  let found;
  try {
    found = JSON.parse(answer).metadata?.vulnerabilities;
  } catch {
    found = undefined;
  }
  if (!found) {
    return {
      status: "unknown",
      text: "WARN  NOT CHECKED FOR KNOWN VULNERABILITIES: the registry gave no audit. Run this again where it answers.",
    };
  }
  const grave = (found.high ?? 0) + (found.critical ?? 0);
  if (grave > 0) {
    return {
      status: "vulnerable",
      text: `FAIL  ${grave} grave vulnerabilities in what ships: \`npm audit --omit=dev\` names them`,
    };
  }
  return {
    status: "clean",
    text: `ok    no grave vulnerability known in what ships (${found.total} lesser)`,
  };
}
