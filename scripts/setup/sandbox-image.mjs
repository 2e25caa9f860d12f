import { createHash } from "node:crypto";
import { copyFile, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findBaseImage } from "./base-image.mjs";
import { buildImage, inspectImage, removeBuildStages, writeAptConfiguration } from "./image-build.mjs";
import { root, statePath } from "./paths.mjs";

/** The tag of the locally built sandbox image; profiles pin the image's id, not this tag. */
const sandboxTag = "bailiff-sandbox:dev";

const sourceDirectory = join(root, "images", "sandbox");

/**
 * Makes sure that the sandbox image is there and was built from the files as they are now; writes its name and id
 * to `.bailiff/sandbox-image.json`.
 */
export async function ensureSandboxImage(docker, progress) {
  const inputs = await hashInputs();
  let built = await inspectImage(docker, sandboxTag);
  if (built?.inputs === inputs) {
    progress.ready("Sandbox image", `${sandboxTag} ${built.id.slice(7, 19)}`);
  } else {
    const base = await findBaseImage(docker, progress);
    await progress.step("Sandbox image: installing the tools", "1 to 2 minutes, once", () =>
      build(docker, base, inputs),
    );
    built = await inspectImage(docker, sandboxTag);
  }
  const target = statePath("sandbox-image.json");
  const next = `${target}.${process.pid}`;
  await writeFile(next, `${JSON.stringify({ image: sandboxTag, id: built.id, inputs }, null, 2)}\n`);
  await rename(next, target);
  return { image: sandboxTag, id: built.id };
}

/**
 * Makes sure that the sandbox image is there under another tag, with more packages. The image without them has to be
 * there already.
 */
export async function ensureSandboxVariant(docker, progress, tag, packages) {
  if (packages.length === 0) {
    await docker.must(["tag", sandboxTag, tag]);
    return (await inspectImage(docker, tag)).id;
  }
  const inputs = `${await hashInputs()}-${packages.join("-")}`;
  if ((await inspectImage(docker, tag))?.inputs !== inputs) {
    const base = await findBaseImage(docker, progress);
    await progress.step(`Image ${tag}: installing the tools`, "1 to 2 minutes", () =>
      build(docker, base, inputs, { tag, packages }),
    );
  }
  return (await inspectImage(docker, tag)).id;
}

async function hashInputs() {
  const hash = createHash("sha256");
  for (const name of ["Dockerfile", "packages.txt"]) hash.update(await readFile(join(sourceDirectory, name)));
  hash.update(process.env.SANDBOX_BASE_IMAGE ?? "");
  return hash.digest("hex");
}

async function build(docker, base, inputs, { tag = sandboxTag, packages = [] } = {}) {
  const context = await mkdtemp(join(tmpdir(), "bailiff-sandbox-"));
  try {
    for (const name of ["Dockerfile", "packages.txt"]) {
      await copyFile(join(sourceDirectory, name), join(context, name));
    }
    await writeAptConfiguration(context, base);
    await buildImage(docker, {
      tag,
      context,
      inputs,
      args: { BASE: base.image, EXTRA_PACKAGES: packages.join(" ") },
    });
    await removeBuildStages(docker, "tools");
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}
