import {
  chmod,
  copyFile,
  cp,
  lutimes,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findBaseImage } from "./base-image.mjs";
import { buildInputs } from "./build.mjs";
import { must } from "./command.mjs";
import { buildImage, inspectImage, removeBuildStages, writeAptConfiguration } from "./image-build.mjs";
import { hashFiles } from "./inputs.mjs";
import { copyLockedNode } from "./locked-node.mjs";
import { root } from "./paths.mjs";

/** Every image of the service: what it is made from, and how its build context is assembled. */
const images = [
  {
    name: "bailiff",
    expectation: "about 30 s",
    inputs: [
      ...buildInputs,
      "package.json",
      "policy",
      "LICENSE",
      "images/bailiff",
      "images/node",
      "images/init",
    ],
    assemble: assembleBailiff,
  },
  {
    name: "bailiff-init",
    expectation: "a few seconds",
    inputs: ["images/init", "LICENSE"],
    assemble: assembleInit,
  },
  {
    name: "bailiff-redis",
    expectation: "about 20 s",
    inputs: ["images/redis"],
    assemble: assembleRedis,
  },
];

/** Kept out of the image: what only an editor, a debugger or a reader of the package wants. */
const needless = /(\.d\.[cm]?ts|\.[cm]?ts|\.map|\.md|\.markdown)$/;

/**
 * Makes sure that the images `bailiff`, `bailiff-init` and `bailiff-redis` are there with this tag, each built from
 * the files as they are now. Needs dist and bailiff-init to be current.
 * @returns the image's id by its name.
 */
export async function ensureServiceImages(docker, progress, { tag = "dev", labels = {} } = {}) {
  const base = await findBaseImage(docker, progress);
  const baseId = (await inspectImage(docker, base.image))?.id ?? base.image;
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const ids = {};
  for (const image of images) {
    const reference = `${image.name}:${tag}`;
    const files = await hashFiles(
      ["scripts/setup/service-images.mjs", "scripts/setup/locked-node.mjs", "images/parts", ...image.inputs],
      {
        skip: ["build", "test"],
      },
    );
    const inputs = `${files}-${baseId.replace("sha256:", "").slice(0, 12)}`;
    let built = await inspectImage(docker, reference);
    if (built?.inputs === inputs) {
      progress.ready(`Image ${reference}`, built.id.slice(7, 19));
    } else {
      await progress.step(`Image ${reference}`, image.expectation, () =>
        inContext(image.name, async (context) => {
          await image.assemble(context, base);
          await buildImage(docker, {
            tag: reference,
            context,
            inputs,
            args: { BASE: base.image },
            labels: {
              "org.opencontainers.image.version": version,
              "org.opencontainers.image.base.name": base.image,
              ...labels,
            },
          });
        }),
      );
      built = await inspectImage(docker, reference);
    }
    ids[image.name] = built.id;
  }
  await removeBuildStages(docker, "parts");
  return ids;
}

async function inContext(name, work) {
  const context = await mkdtemp(join(tmpdir(), `${name}-image-`));
  try {
    await work(context);
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}

async function assembleBailiff(context) {
  const files = join(context, "files");
  const home = join(files, "opt", "bailiff");
  await mkdir(home, { recursive: true });
  await copy("images/bailiff/Dockerfile", join(context, "Dockerfile"));
  await copy("images/parts/collect.sh", join(context, "collect.sh"));
  await copyAccounts(files);
  await copyLockedNode(await made(join(files, "usr", "local", "bin", "node")));
  await copy("images/bailiff/bailiff.js", join(files, "usr", "local", "bin", "bailiff"), 0o755);
  for (const name of ["healthcheck.mjs", "prepare.mjs"])
    await copy(`images/bailiff/${name}`, join(home, name));
  for (const name of ["package.json", "package-lock.json", "LICENSE"]) await copy(name, join(home, name));
  await must("npm", ["ci", "--omit=dev", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"], {
    cwd: home,
    timeoutMs: 600_000,
  });
  await rm(join(home, "package-lock.json"));
  await prune(join(home, "node_modules"));
  await cp(join(root, "dist"), join(home, "dist"), {
    recursive: true,
    filter: (path) => !needless.test(path),
  });
  await cp(join(root, "policy"), join(home, "policy"), { recursive: true });
  await copy(
    "images/init/build/bailiff-init",
    await made(join(home, "images", "init", "build", "bailiff-init")),
    0o755,
  );
  await writeFile(await made(join(files, "usr", "share", "sbom", "node.cdx.json")), await describeModules());
  await settle(files);
}

async function assembleInit(context) {
  await must("make", ["-C", join(root, "images", "init"), "image"], { timeoutMs: 120_000 });
  await copy("images/init/Dockerfile", join(context, "Dockerfile"));
  const files = join(context, "files");
  for (const name of ["bailiff-init", "install"]) {
    await copy(`images/init/build/${name}`, await made(join(files, name)), 0o755);
  }
  await copy("LICENSE", join(files, "LICENSE"));
  await settle(files);
}

async function assembleRedis(context, base) {
  await copy("images/redis/Dockerfile", join(context, "Dockerfile"));
  await copy("images/parts/collect.sh", join(context, "collect.sh"));
  await copyAccounts(join(context, "files"));
  await writeAptConfiguration(context, base);
}

/** Removes what the program does not read from installed packages. */
async function prune(directory) {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && needless.test(entry.name))
      await rm(join(entry.parentPath ?? entry.path, entry.name));
  }
}

/** Gives everything below a folder the same times and modes wherever it was assembled, so that layers are the same. */
async function settle(directory) {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile()) await chmod(path, ((await stat(path)).mode & 0o111) === 0 ? 0o644 : 0o755);
    if (entry.isDirectory()) await chmod(path, 0o755);
    await lutimes(path, 0, 0);
  }
}

/** The user that the images run as, by a name that logs and `ps` can show. */
async function copyAccounts(files) {
  for (const name of ["passwd", "group"]) {
    await copy(`images/parts/${name}`, await made(join(files, "etc", name)));
  }
}

/** The production packages of the lock file as a CycloneDX document; the same lock gives the same text. */
export async function describeModules() {
  const text = await must(
    "npm",
    ["sbom", "--omit=dev", "--sbom-format=cyclonedx", "--sbom-type=application", "--package-lock-only"],
    { cwd: root, timeoutMs: 60_000 },
  );
  const { serialNumber: _, ...document } = JSON.parse(text);
  delete document.metadata.timestamp;
  document.metadata.component.name = "bailiff";
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Copies a file of the checkout with a mode that does not depend on who checked it out. */
async function copy(path, target, mode = 0o644) {
  await copyFile(join(root, path), target);
  await chmod(target, mode);
}

/** The same path, once its folder is there. */
async function made(path) {
  await mkdir(dirname(path), { recursive: true });
  return path;
}
