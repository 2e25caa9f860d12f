import { DEFAULT_CONTAINER_LIMITS } from "../../domain/limits.js";
import type { CompiledPolicy } from "../../domain/policy/compiled-policy.js";
import type { RuntimeProfile } from "../../ports/container-runtime.js";

/** A profile as commands use it: the policy's words with the image this installation has for it. */
export interface Profile extends RuntimeProfile {
  readonly pool: string;
  readonly networkCapable: boolean;
  readonly readOnlyRoots: readonly string[];
}

/** The queue of profiles that name none. */
const DEFAULT_POOL = "default";

/** All profiles that have an image, by name: the policy's, and those that configuration alone gives one. */
export function listProfiles(
  policy: CompiledPolicy,
  images: Readonly<Record<string, string>>,
): readonly Profile[] {
  const names = new Set([...Object.keys(policy.document.profiles), ...Object.keys(images)]);
  return [...names].sort().flatMap((name) => findProfile(name, policy, images) ?? []);
}

/** The profile by name, or null. Configuration's image replaces the policy's: a local image's digest is known only here. */
export function findProfile(
  name: string,
  policy: CompiledPolicy,
  images: Readonly<Record<string, string>>,
): Profile | null {
  const written = Object.hasOwn(policy.document.profiles, name) ? policy.document.profiles[name] : undefined;
  const image = (Object.hasOwn(images, name) ? images[name] : undefined) ?? written?.image;
  if (image === undefined) return null;
  const limits = written?.limits ?? {};
  return {
    name,
    image,
    imageDigest: image.slice(image.indexOf("sha256:")),
    network: written?.network ?? "none",
    ociRuntime: written?.runtime ?? null,
    acceptsUnenforcedLimits: written?.accept_unenforced_limits ?? false,
    limits: {
      memoryBytes: limits.memory_bytes ?? DEFAULT_CONTAINER_LIMITS.memoryBytes,
      pids: limits.pids ?? DEFAULT_CONTAINER_LIMITS.pids,
      nanoCpus: limits.nano_cpus ?? DEFAULT_CONTAINER_LIMITS.nanoCpus,
      tmpBytes: limits.tmp_bytes ?? DEFAULT_CONTAINER_LIMITS.tmpBytes,
      shmBytes: limits.shm_bytes ?? DEFAULT_CONTAINER_LIMITS.shmBytes,
      homeBytes: limits.home_bytes ?? DEFAULT_CONTAINER_LIMITS.homeBytes,
      openFiles: limits.open_files ?? DEFAULT_CONTAINER_LIMITS.openFiles,
    },
    pool: written?.pool ?? DEFAULT_POOL,
    networkCapable: (written?.network ?? "none") !== "none",
    readOnlyRoots: written?.read_only_roots ?? [],
  };
}
