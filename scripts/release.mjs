import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { debianBill } from "./release/debian-bill.mjs";
import { capture, must } from "./setup/command.mjs";
import { createDockerClient } from "./setup/docker-client.mjs";
import { root } from "./setup/paths.mjs";
import { prepare } from "./setup/prepare.mjs";
import { createProgress } from "./setup/progress.mjs";
import { ensureCompilerImage } from "./setup/sandbox-image.mjs";
import { describeModules, ensureServiceImages } from "./setup/service-images.mjs";
import { printFailure, SetupError } from "./setup/setup-error.mjs";

/** How the packages of each image are listed: from the list in it, or by its package manager. */
const listedInFile = ["bailiff", "bailiff-redis"];
const sandboxes = ["bailiff-sandbox", "bailiff-sandbox-gcc"];

try {
  await release({ isDry: process.argv.includes("--dry-run") });
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}

/** Builds everything a release consists of into `release/VERSION`; dry, it checks and says what it would build. */
async function release({ isDry }) {
  const progress = createProgress();
  const { name, version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const revision = await checkReleasable(version, isDry, progress);
  const verdict = await must(process.execPath, [join(root, "scripts", "supply-chain.mjs")], {
    timeoutMs: 120_000,
  });
  for (const line of verdict.trim().split("\n")) progress.note(line);
  const directory = join(root, "release", version);
  const hasChart = await exists(join(root, "helm", "bailiff", "Chart.yaml"));
  const images = [...listedInFile, "bailiff-init", ...sandboxes];
  if (isDry) {
    const products = [
      `${name}-${version}.tgz`,
      ...images.map((image) => `${image}-image-${version}.tar.gz`),
      ...(hasChart ? [`bailiff-chart-${version}.tgz`] : []),
      ...["bailiff-node", ...listedInFile, ...sandboxes].map((bill) => `${bill}.cdx.json`),
      "SHA256SUMS",
    ];
    for (const product of products) process.stdout.write(`${product}\n`);
    return;
  }

  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const { dockerHost, sandboxImageId } = await prepare(progress, { build: true });
  const docker = await createDockerClient(dockerHost);
  const labels = { "org.opencontainers.image.revision": revision };
  const ids = await ensureServiceImages(docker, progress, { tag: version, labels });
  ids["bailiff-sandbox"] = sandboxImageId;
  ids["bailiff-sandbox-gcc"] = (await ensureCompilerImage(docker, progress)).id;
  for (const image of sandboxes) await docker.must(["tag", ids[image], `${image}:${version}`]);
  await must("npm", ["pack", "--silent", "--pack-destination", directory], { cwd: root, timeoutMs: 120_000 });
  if (hasChart) {
    // What `helm package` makes: the chart's folder, and nothing around it. The same commit gives the same file.
    const committedAt = (await must("git", ["log", "-1", "--format=%ct"], { cwd: root })).trim();
    await must("tar", [
      "--create",
      "--gzip",
      "--sort=name",
      "--owner=0",
      "--group=0",
      "--numeric-owner",
      `--mtime=@${committedAt}`,
      "--mode=u+w,go-w,a+rX",
      `--file=${join(directory, `bailiff-chart-${version}.tgz`)}`,
      `--directory=${join(root, "helm")}`,
      "bailiff",
    ]);
  }
  await writeFile(join(directory, "bailiff-node.cdx.json"), await describeModules());
  for (const image of images) {
    const reference = `${image}:${version}`;
    await progress.step(`Saving ${reference}`, "up to a minute", () =>
      save(docker, reference, join(directory, `${image}-image-${version}.tar`)),
    );
    const packages = await listPackages(docker, image, reference);
    if (packages === undefined) continue;
    const bill = debianBill(packages, { image, version, digest: ids[image] });
    await writeFile(join(directory, `${image}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`);
  }
  await writeChecksums(directory);
  progress.ready("Release", directory);
}

/** A release says what is in it, and is what the repository holds; gives the commit. */
async function checkReleasable(version, isDry, progress) {
  const changes = await readFile(join(root, "CHANGELOG.md"), "utf8");
  if (!changes.includes(`\n## ${version}`)) {
    throw new SetupError(
      `CHANGELOG.md says nothing about ${version}.`,
      "Write what changed, then start again.",
    );
  }
  const head = await capture("git", ["rev-parse", "HEAD"], { cwd: root });
  const status = await capture("git", ["status", "--porcelain"], { cwd: root });
  const problem =
    head.code !== 0 || status.code !== 0
      ? "This is no checkout that git can read."
      : status.stdout.trim() !== "" && "There are uncommitted changes.";
  if (problem && !isDry) throw new SetupError(problem, (status.stdout + status.stderr).trim());
  if (problem) progress.note(`${problem} A release would stop here.`);
  return head.stdout.trim();
}

/** Saves an image as `docker load` takes it. */
async function save(docker, reference, path) {
  await docker.must(["save", "--output", path, reference], { timeoutMs: 600_000 });
  // Without a time in its header, the same image gives the same file.
  await must("gzip", ["--no-name", path], { timeoutMs: 600_000 });
  // The client writes for its own user alone; a release is for everybody.
  await chmod(`${path}.gz`, 0o644);
}

async function listPackages(docker, image, reference) {
  if (sandboxes.includes(image)) {
    const fields = ["Package", "Version", "Architecture"].map((field) => `\${${field}}`).join("\\t");
    return docker.must(["run", "--rm", "--network=none", reference, "dpkg-query", "-W", `-f=${fields}\\n`]);
  }
  if (!listedInFile.includes(image)) return undefined;
  const id = (await docker.must(["create", "--network=none", reference])).trim();
  try {
    const target = join(root, "release", `${image}.tsv`);
    await docker.must(["cp", `${id}:/usr/share/sbom/debian.tsv`, target]);
    const text = await readFile(target, "utf8");
    await rm(target);
    return text;
  } finally {
    await docker.run(["rm", id]);
  }
}

async function writeChecksums(directory) {
  const lines = [];
  for (const name of (await readdir(directory)).sort()) {
    const hash = createHash("sha256");
    await pipeline(createReadStream(join(directory, name)), hash);
    lines.push(`${hash.digest("hex")}  ${name}\n`);
  }
  await writeFile(join(directory, "SHA256SUMS"), lines.join(""));
}

async function exists(path) {
  return access(path).then(
    () => true,
    () => false,
  );
}
