import { join } from "node:path";
import {
  readDistribution,
  readDistributionSources,
  readTransportOptions,
  writeBuildConfiguration,
} from "./apt-sources.mjs";

/** The label that says from which inputs an image was built. */
const inputLabel = "dev.bailiff.inputs";

/** The id of an image and the hash of what it was built from; undefined where there is no such image. */
export async function inspectImage(docker, tag) {
  const found = await docker.run(["image", "inspect", tag]);
  if (found.code !== 0) return undefined;
  const [image] = JSON.parse(found.stdout);
  return { id: image.Id, inputs: image.Config?.Labels?.[inputLabel] };
}

/** Writes the apt configuration into a build context with which a build reaches packages as this machine does. */
export async function writeAptConfiguration(context, base) {
  const { codename } = await readDistribution();
  const stanzas = base.ownSources ? [] : await readDistributionSources(codename);
  await writeBuildConfiguration(
    join(context, "apt"),
    "/bootstrap/apt",
    stanzas,
    await readTransportOptions(),
  );
}

/** Builds an image from a context that is complete; `labels` and `args` are maps of what the build is told. */
export async function buildImage(docker, { tag, context, inputs, args = {}, labels = {} }) {
  const pairs = (option, map) => Object.entries(map).flatMap(([name, value]) => [option, `${name}=${value}`]);
  await docker.must(
    [
      "build",
      "--network=host",
      ...pairs("--build-arg", args),
      ...pairs("--label", { ...labels, [inputLabel]: inputs }),
      "--tag",
      tag,
      context,
    ],
    { timeoutMs: 1_200_000 },
  );
}

/** Removes the first stages of builds: they have done their work, and their layers would only take disk space. */
export async function removeBuildStages(docker, stage) {
  await docker.run(["image", "prune", "--force", "--filter", `label=dev.bailiff.stage=${stage}`]);
}
