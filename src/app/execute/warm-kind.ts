import { createHash } from "node:crypto";
import { canonicalJson } from "../../domain/canonical-json.js";
import type { ContainerPurpose, RuntimeProfile } from "../../ports/container-runtime.js";

/** Everything that makes two containers the same but for their command; what is forgotten here would be shared unseen. */
export function kindOf({
  tenant,
  workspaceId,
  workspacePath,
  workspaceIdentity,
  uid,
  gid,
  profile,
}: ContainerPurpose): string {
  const place: Required<Omit<ContainerPurpose, "commandId" | "deadlineMs" | "isProbe">> = {
    tenant,
    workspaceId,
    workspacePath,
    workspaceIdentity,
    uid,
    gid,
    profile: wholeProfile(profile),
  };
  return canonicalJson(place);
}

/**
 * What other workers call a kind: without the path and the directory, which each host may see as another one. It only finds
 * the worker to ask; that one compares the kind itself.
 */
export function fleetKindOf({ tenant, workspaceId, uid, gid, profile }: ContainerPurpose): string {
  const text = canonicalJson({ tenant, workspaceId, uid, gid, profile: wholeProfile(profile) });
  return createHash("sha256").update(text, "utf8").digest("hex");
}

function wholeProfile({
  name,
  image,
  imageDigest,
  network,
  ociRuntime,
  execInTmp = false,
  acceptsUnenforcedLimits = false,
  limits,
}: RuntimeProfile) {
  const whole: Required<RuntimeProfile> = {
    name,
    image,
    imageDigest,
    network,
    ociRuntime,
    execInTmp,
    acceptsUnenforcedLimits,
    limits: { ...limits },
  };
  return whole;
}
