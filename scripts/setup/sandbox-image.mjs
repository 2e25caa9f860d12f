import { createHash } from "node:crypto";
import { copyFile, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findBaseImage } from "./base-image.mjs";
import { buildImage, inspectImage, removeBuildStages, writeAptConfiguration } from "./image-build.mjs";
import { hashFiles } from "./inputs.mjs";
import { copyLockedNode, copyLockedNpm } from "./locked-node.mjs";
import { root, statePath } from "./paths.mjs";

/** The tag of the locally built sandbox image; profiles pin the image's id, not this tag. */
const sandboxTag = "bailiff-sandbox:dev";

const compilerTag = "bailiff-sandbox-gcc:dev";
const compilerPackages = ["gcc", "libc6-dev"];

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
    await progress.step("Sandbox image: installing the tools", "1 to 3 minutes, once", () =>
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

/** Makes sure that the sandbox image with a C compiler in it is there and current; gives its name and id. */
export async function ensureCompilerImage(docker, progress) {
  const inputs = `${await hashInputs()}-${compilerPackages.join("-")}`;
  if ((await inspectImage(docker, compilerTag))?.inputs !== inputs) {
    const base = await findBaseImage(docker, progress);
    await progress.step("Sandbox image with gcc: installing the tools", "2 to 3 minutes", () =>
      build(docker, base, inputs, { tag: compilerTag, packages: compilerPackages }),
    );
  }
  const { id } = await inspectImage(docker, compilerTag);
  progress.ready("Sandbox image with gcc", `${compilerTag} ${id.slice(7, 19)}`);
  return { image: compilerTag, id };
}

async function hashInputs() {
  const files = await hashFiles(["images/sandbox", "images/node", "scripts/setup/locked-node.mjs"]);
  const base = process.env.SANDBOX_BASE_IMAGE ?? "";
  return base === "" ? files : `${files}-${createHash("sha256").update(base).digest("hex").slice(0, 12)}`;
}

async function build(docker, base, inputs, { tag = sandboxTag, packages = [] } = {}) {
  const context = await mkdtemp(join(tmpdir(), "bailiff-sandbox-"));
  try {
    for (const name of ["Dockerfile", "packages.txt"]) {
      await copyFile(join(sourceDirectory, name), join(context, name));
    }
    const local = join(context, "local");
    await mkdir(join(local, "bin"), { recursive: true });
    await mkdir(join(local, "lib", "node_modules"), { recursive: true });
    await copyLockedNode(join(local, "bin", "node"));
    await copyLockedNpm(join(local, "lib", "node_modules", "npm"));
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
