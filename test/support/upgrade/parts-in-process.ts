import { loadConfig } from "../../../src/config/load-config.js";
import { type Foundation, layFoundation } from "../../../src/main/foundation.js";
import type { WorkerSeams } from "../../../src/main/worker.js";
import type { RuntimeProfile } from "../../../src/ports/container-runtime.js";
import type { Installation } from "../bailiff.js";
import { readTestEnvironment } from "../environment.js";

/** What stands for the image in the records that are kept: each machine builds its own, and an approval binds its digest. */
const KEPT_IMAGE = `sha256:${"1".repeat(64)}`;

/** Lays the foundation of Bailiff's parts in this process, as its own main does it, over a Redis and an installation. */
export function layPartsOver(installation: Installation, redisUrl: string): Promise<Foundation> {
  const { dockerSocket, initPath } = readTestEnvironment();
  const config = loadConfig({
    env: {},
    fileName: "",
    readSecret: () => "",
    fileText: JSON.stringify({
      deployment: installation.deployment,
      data_dir: installation.directory,
      init_path: initPath,
      server: { port: 0 },
      docker: { host: `unix://${dockerSocket}` },
      images: { default: KEPT_IMAGE },
      webhooks: { secret: "only-for-records-that-are-kept-in-tests" },
      worker: { heartbeat_ms: 200, lease_ms: 2_000, reconcile_ms: 200, warm: { max_containers: 0 } },
      limits: { result_ttl_ms: 24 * 3_600_000, approval_expiry_ms: 3_600_000 },
      log: { level: "silent" },
      metrics: { process: false },
    }),
  });
  return layFoundation(config, "all", redisUrl);
}

/** A command that leaves its name in the workspace's ledger, two streams and a status. */
export function ledgerArgv(name: string): readonly string[] {
  return ["sh", "-c", "echo $0 >> ledger; printf out; printf err >&2; exit 3", name];
}

/** Lets a worker run this machine's image where the kept one is meant. */
export const ownImage: NonNullable<WorkerSeams["runtime"]> = (runtime) => {
  const image = readTestEnvironment().sandboxImageId;
  const meant = <P extends RuntimeProfile>(profile: P): P => ({ ...profile, image, imageDigest: image });
  return {
    ...runtime,
    probe: (profiles, root) => runtime.probe(profiles.map(meant), root),
    prepare: (purpose, signal) => runtime.prepare({ ...purpose, profile: meant(purpose.profile) }, signal),
  };
};
