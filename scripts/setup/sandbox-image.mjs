import { createHash } from "node:crypto";
import { copyFile, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  readDistribution,
  readDistributionSources,
  readTransportOptions,
  writeBuildConfiguration,
} from "./apt-sources.mjs";
import { findBaseImage } from "./base-image.mjs";
import { root, statePath } from "./paths.mjs";

/** The tag of the locally built sandbox image; profiles pin the image's id, not this tag. */
const sandboxTag = "bailiff-sandbox:dev";

const sourceDirectory = join(root, "images", "sandbox");
const inputLabel = "dev.bailiff.inputs";

/**
 * Makes sure that the sandbox image is there and was built from the files as they are now; writes its name and id
 * to `.bailiff/sandbox-image.json`.
 */
export async function ensureSandboxImage(docker, progress) {
  const inputs = await hashInputs();
  let built = await inspect(docker);
  if (built?.inputs === inputs) {
    progress.ready("Sandbox image", `${sandboxTag} ${built.id.slice(7, 19)}`);
  } else {
    const base = await findBaseImage(docker, progress);
    await progress.step("Sandbox image: installing the tools", "1 to 2 minutes, once", () =>
      build(docker, base, inputs),
    );
    built = await inspect(docker);
  }
  const target = statePath("sandbox-image.json");
  const next = `${target}.${process.pid}`;
  await writeFile(next, `${JSON.stringify({ image: sandboxTag, id: built.id, inputs }, null, 2)}\n`);
  await rename(next, target);
  return { image: sandboxTag, id: built.id };
}

async function inspect(docker) {
  const found = await docker.run(["image", "inspect", sandboxTag]);
  if (found.code !== 0) return undefined;
  const [image] = JSON.parse(found.stdout);
  return { id: image.Id, inputs: image.Config?.Labels?.[inputLabel] };
}

async function hashInputs() {
  const hash = createHash("sha256");
  for (const name of ["Dockerfile", "packages.txt"]) hash.update(await readFile(join(sourceDirectory, name)));
  hash.update(process.env.SANDBOX_BASE_IMAGE ?? "");
  return hash.digest("hex");
}

async function build(docker, base, inputs) {
  const context = await mkdtemp(join(tmpdir(), "bailiff-sandbox-"));
  try {
    for (const name of ["Dockerfile", "packages.txt"]) {
      await copyFile(join(sourceDirectory, name), join(context, name));
    }
    const { codename } = await readDistribution();
    const stanzas = base.ownSources ? [] : await readDistributionSources(codename);
    await writeBuildConfiguration(
      join(context, "apt"),
      "/bootstrap/apt",
      stanzas,
      await readTransportOptions(),
    );
    await docker.must(
      [
        "build",
        "--network=host",
        "--build-arg",
        `BASE=${base.image}`,
        "--label",
        `${inputLabel}=${inputs}`,
        "--tag",
        sandboxTag,
        context,
      ],
      { timeoutMs: 1_200_000 },
    );
    // The first stage has done its work; its layers would only take disk space.
    await docker.run(["image", "prune", "--force", "--filter", "label=dev.bailiff.stage=tools"]);
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}
