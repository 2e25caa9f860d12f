import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../ports/clock.js";
import type {
  ContainerPurpose,
  EngineProbe,
  ProcessEnd,
  ReadyContainer,
  RuntimeProfile,
} from "../../ports/container-runtime.js";
import type { EngineAbilities, EngineClient } from "./engine-client.js";
import { engineFault } from "./engine-faults.js";
import {
  bindMount,
  buildContainerSpec,
  type ContainerOwner,
  type ImageDeclarations,
  INIT_TARGET,
  unusableVolumes,
} from "./host-config.js";
import { removeContainer } from "./remove-container.js";

/** What the probe works with; `prepare` is the runtime's own, so that the probe walks the way of a command. */
export interface ProbeDeps {
  readonly engine: EngineClient;
  readonly prepare: (purpose: ContainerPurpose, signal: AbortSignal) => Promise<ReadyContainer>;
  readonly owner: ContainerOwner;
  readonly newName: () => string;
  /** Limits that an OCI runtime was found not to enforce. */
  readonly missingLimits: (ociRuntime: string | null) => readonly string[];
  readonly clock: Clock;
  readonly probeUid: number;
  readonly probeGid: number;
}

const PROBE_TIMEOUT_MS = 10_000;
const PROBE_DEADLINE_MS = 120_000;
const SENTINEL_MAX_BYTES = 4096;

/** What the engine can't enforce, as sentences. Pure. */
export function abilityProblems(abilities: EngineAbilities): string[] {
  const problems: string[] = [];
  if (abilities.cgroupDriver === "none") {
    problems.push(
      "the engine has no cgroup driver, so no limit would hold (a rootless engine needs cgroup v2 delegation)",
    );
  }
  if (!abilities.memoryLimit) problems.push("the engine can't limit memory");
  if (!abilities.pidsLimit) problems.push("the engine can't limit the number of processes");
  if (!abilities.cpuQuota) problems.push("the engine can't limit CPU time");
  const seccomp = abilities.securityOptions.find((option) => option.split(",")[0] === "name=seccomp");
  if (seccomp === undefined) problems.push("the engine has no seccomp support");
  else if (seccomp.split(",").includes("profile=unconfined")) {
    problems.push("the engine's default seccomp profile is unconfined");
  }
  return problems;
}

/** The probe's own directory below the workspaces root, owned as a workspace is. */
async function makeProbeWorkspace(root: string, uid: number, gid: number) {
  const path = await mkdtemp(join(root, ".bailiff-probe-"));
  try {
    const secret = randomBytes(32).toString("hex");
    // The directory's name is a secret too: chdir to it proves the mount even where an image has no cat.
    const inner = `sentinel-${randomBytes(16).toString("hex")}`;
    await mkdir(join(path, inner));
    await writeFile(join(path, inner, "sentinel"), secret, { flag: "wx" });
    if (process.getuid?.() === 0) {
      for (const owned of [path, join(path, inner), join(path, inner, "sentinel")])
        await chown(owned, uid, gid);
    }
    await chmod(path, 0o700);
    return { path, inner, secret };
  } catch (error) {
    await rm(path, { recursive: true, force: true });
    throw error;
  }
}

/** What the end of the sentinel's read says of the mount; null when the engine sees the same files. Pure. */
export function sentinelProblem(end: ProcessEnd, secret: string): string | null {
  if (end.kind === "lost") return `the probe's container was lost: ${end.detail}`;
  const { report, stdout } = end;
  if (report.kind === "start_failed" && report.stage === "chdir") {
    return report.errno === 13
      ? "the engine maps user ids, so a command can't enter its own workspace (userns-remap or a rootless engine)"
      : "the engine does not see the workspaces root: another directory is at that path on its side";
  }
  // chdir worked, and only this process knew the directory's name; the image merely has no cat.
  if (report.kind === "start_failed" && report.stage === "exec") return null;
  if (
    report.kind === "exited" &&
    report.exitCode === 0 &&
    Buffer.from(stdout.bytes).toString("utf8") === secret
  ) {
    return null;
  }
  return "the engine does not see the workspaces root: the sentinel could not be read back";
}

/** Whether the engine sees bailiff-init: a create with that mount alone, never started. */
async function seesInit(
  { engine, owner, newName }: ProbeDeps,
  purpose: ContainerPurpose,
  image: ImageDeclarations,
) {
  const spec = buildContainerSpec(purpose, owner, image);
  const alone = {
    ...spec,
    HostConfig: { ...spec.HostConfig, Mounts: [bindMount(owner.initPath, INIT_TARGET, true)] },
  };
  const name = newName();
  try {
    await engine.create(name, alone);
    return true;
  } catch (error) {
    return engineFault("create", error).code !== "mount_refused";
  } finally {
    await removeContainer(engine, name).catch(() => {});
  }
}

async function probeWorkspaces(
  deps: ProbeDeps,
  profile: RuntimeProfile,
  image: ImageDeclarations,
  root: string,
) {
  const own = process.getuid?.() ?? 0;
  const uid = own === 0 ? deps.probeUid : own;
  const gid = own === 0 ? deps.probeGid : (process.getgid?.() ?? deps.probeGid);
  let workspace: Awaited<ReturnType<typeof makeProbeWorkspace>>;
  try {
    workspace = await makeProbeWorkspace(root, uid, gid);
  } catch {
    return "a directory can't be made below the workspaces root";
  }
  const purpose: ContainerPurpose = {
    tenant: "bailiff",
    workspaceId: "probe",
    workspacePath: workspace.path,
    workspaceIdentity: workspace.inner,
    uid,
    gid,
    // The probe looks at the runtime; whether a profile accepts what it finds is judged for each.
    profile: { ...profile, acceptsUnenforcedLimits: true },
    commandId: null,
    isProbe: true,
    deadlineMs: deps.clock.nowMs() + PROBE_DEADLINE_MS,
  };
  const never = new AbortController().signal;
  let container: ReadyContainer | null = null;
  try {
    container = await deps.prepare(purpose, never);
    const end = await container.run(
      {
        argv: ["cat", "sentinel"],
        cwd: workspace.inner,
        environment: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
        timeoutMs: PROBE_TIMEOUT_MS,
        stdoutCaptureBytes: SENTINEL_MAX_BYTES,
        stdoutHardBytes: SENTINEL_MAX_BYTES,
        stderrCaptureBytes: SENTINEL_MAX_BYTES,
        stderrHardBytes: SENTINEL_MAX_BYTES,
        graceMs: 2_000,
      },
      never,
    );
    return sentinelProblem(end, workspace.secret);
  } catch (error) {
    const fault = engineFault("ready", error);
    if (fault.code !== "mount_refused") {
      const by =
        profile.ociRuntime === null ? "" : ` by the OCI runtime ${JSON.stringify(profile.ociRuntime)}`;
      return `a container can't be made${by}: ${fault.message}`;
    }
    return (await seesInit(deps, purpose, image))
      ? "the engine does not see the workspaces root: the directory is missing on its side"
      : "the engine does not see bailiff-init at the configured path";
  } finally {
    await container?.destroy().catch(() => {});
    await rm(workspace.path, { recursive: true, force: true }).catch(() => {});
  }
}

/**
 * Finds out whether the engine is fit, and says what is not. It never pulls.
 * @throws RuntimeFault only when the engine can't be asked at all.
 */
export async function probeEngine(
  deps: ProbeDeps,
  profiles: readonly RuntimeProfile[],
  workspacesRoot: string,
): Promise<EngineProbe> {
  const { engine } = deps;
  const apiVersion = await engine.apiVersion();
  const engineVersion = await engine.engineVersion();
  const abilities = await engine.abilities();
  const problems = abilityProblems(abilities);
  /** One sentinel per OCI runtime: each has its own way to bring a directory into a container. */
  const byRuntime = new Map<string | null, { profile: RuntimeProfile; image: ImageDeclarations }>();
  for (const profile of profiles) {
    const named = `profile ${JSON.stringify(profile.name)}`;
    const faults: string[] = [];
    const image = await engine.image(profile.image, null);
    if (image === null) {
      faults.push(
        `${named}: its image is not on this engine; load it first, it is never pulled for a command`,
      );
    } else if (
      image.id !== profile.imageDigest &&
      !image.repoDigests.some((digest) => digest.endsWith(`@${profile.imageDigest}`))
    ) {
      faults.push(`${named}: the image on this engine has another digest than the one pinned`);
    }
    if (image !== null && unusableVolumes(image).length > 0) {
      faults.push(`${named}: its image declares a volume where Bailiff mounts its own`);
    }
    if (profile.ociRuntime !== null && !abilities.runtimes.includes(profile.ociRuntime)) {
      faults.push(
        `${named}: the engine does not know its OCI runtime ${JSON.stringify(profile.ociRuntime)}; it knows ${abilities.runtimes.toSorted().join(", ")}`,
      );
    }
    if (profile.network !== "none" && !(await engine.networkExists(profile.network))) {
      faults.push(`${named}: the engine does not know its network`);
    }
    if (faults.length === 0 && image !== null && !byRuntime.has(profile.ociRuntime)) {
      byRuntime.set(profile.ociRuntime, { profile, image });
    }
    problems.push(...faults);
  }
  // An engine that can't hold limits gets no container to run, not even ours.
  if (problems.length === 0 && byRuntime.size === 0) problems.push("no profile is configured");
  if (abilityProblems(abilities).length === 0) {
    for (const { profile, image } of byRuntime.values()) {
      const problem = await probeWorkspaces(deps, profile, image, workspacesRoot);
      if (problem !== null) problems.push(problem);
    }
  }
  const warnings: string[] = [];
  for (const profile of profiles) {
    const missing = deps.missingLimits(profile.ociRuntime);
    if (missing.length === 0) continue;
    const runtime =
      profile.ociRuntime === null
        ? "default OCI runtime"
        : `OCI runtime ${JSON.stringify(profile.ociRuntime)}`;
    const found = `profile ${JSON.stringify(profile.name)}: the engine's ${runtime} does not enforce its limits on ${missing.join(", ")}`;
    if (profile.acceptsUnenforcedLimits === true) warnings.push(`${found}, which the profile accepts`);
    else problems.push(`${found}; run it with cgroups, or set the profile's accept_unenforced_limits`);
  }
  return {
    engineId: abilities.engineId,
    apiVersion,
    engineVersion,
    cgroupVersion: abilities.cgroupVersion,
    problems,
    warnings,
  };
}
