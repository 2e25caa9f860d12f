import { posix } from "node:path";
import type { ContainerPurpose } from "../../ports/container-runtime.js";
import { LABEL } from "./container-labels.js";

/** Where the workspace is inside every container. */
export const WORKSPACE_TARGET = "/workspace";
/** Where bailiff-init is inside every container. */
export const INIT_TARGET = "/.bailiff/init";
/** HOME of the command, a tmpfs that only its uid can enter. */
const HOME_TARGET = "/home/agent";

/** The largest file a command may write: a hole of a terabyte is refused wherever it is made. */
const FILE_BYTES = 4 * 1024 ** 3;
/** Inodes cost kernel memory too: a tmpfs is bounded in files as well as in bytes. */
const TMPFS_INODES = 65_536;

/** Variables that steer a dynamic loader or allocator. init is static and gives the command its own environment; this is the second lock. */
const LOADER_VARIABLES = [
  "GCONV_PATH",
  "GLIBC_TUNABLES",
  "LD_AUDIT",
  "LD_BIND_NOW",
  "LD_DEBUG",
  "LD_LIBRARY_PATH",
  "LD_PRELOAD",
  "LOCPATH",
  "MALLOC_CHECK_",
  "NLSPATH",
];

/** What an image declares that would reach into a container if nothing spoke against it. */
export interface ImageDeclarations {
  readonly volumes: readonly string[];
  readonly environmentNames: readonly string[];
}

/** Who owns the containers. */
export interface ContainerOwner {
  readonly deploymentId: string;
  readonly workerId: string;
  /** bailiff-init as the engine's host sees it. */
  readonly initPath: string;
}

/** A mount as the Engine API takes it. */
export interface ContainerMount {
  readonly Type: "bind" | "tmpfs";
  readonly Source?: string;
  readonly Target: string;
  readonly ReadOnly?: boolean;
  readonly BindOptions?: { readonly Propagation: "rprivate"; readonly NonRecursive: true };
  readonly TmpfsOptions?: { readonly SizeBytes: number; readonly Mode: number };
}

/** The body of POST /containers/create. */
export interface ContainerSpec {
  readonly [field: string]: unknown;
  readonly Image: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly Env: readonly string[];
  readonly HostConfig: Readonly<Record<string, unknown>> & { readonly Mounts: readonly ContainerMount[] };
}

/** A bind that fails on a missing source, propagates nothing and does not follow other mounts below it. */
export function bindMount(source: string, target: string, readOnly: boolean): ContainerMount {
  return {
    Type: "bind",
    Source: source,
    Target: target,
    ReadOnly: readOnly,
    BindOptions: { Propagation: "rprivate", NonRecursive: true },
  };
}

function tmpfs(sizeBytes: number, mode: string, more: readonly string[]): string {
  const options = ["rw", "nosuid", "nodev", `size=${sizeBytes}`, `nr_inodes=${TMPFS_INODES}`, `mode=${mode}`];
  return [...options, ...more].join(",");
}

/** Whether a declared volume's path is one that this configuration mounts itself. */
function isOwnTarget(path: string): boolean {
  return [WORKSPACE_TARGET, "/tmp", "/dev/shm", HOME_TARGET].includes(path);
}

/**
 * Declared volumes that no container can be made with: a mount inside the workspace would leave its mountpoint, owned by
 * root, on the host; one over the root or bailiff-init would hide them.
 */
export function unusableVolumes(image: ImageDeclarations): string[] {
  return image.volumes.filter((path) => {
    const canonical = posix.resolve("/", path);
    return (
      canonical === "/" ||
      canonical.startsWith(`${WORKSPACE_TARGET}/`) ||
      `${canonical}/`.startsWith("/.bailiff/")
    );
  });
}

/**
 * The container for one command, without its argv. Pure: everything that hardens a container is in this one value.
 * The `User` is root because bailiff-init is; the command itself never is.
 */
export function buildContainerSpec(
  purpose: ContainerPurpose,
  owner: ContainerOwner,
  image: ImageDeclarations,
): ContainerSpec {
  const { profile } = purpose;
  const { limits } = profile;
  const exec = profile.execInTmp === true ? "exec" : "noexec";
  const ownedBy = [`uid=${purpose.uid}`, `gid=${purpose.gid}`];
  const neutralised = [...new Set([...LOADER_VARIABLES, ...image.environmentNames])].sort();
  return {
    Image: profile.image,
    Hostname: "sandbox",
    Domainname: "",
    User: "0:0",
    WorkingDir: "/",
    Entrypoint: [INIT_TARGET],
    Cmd: [],
    // A name without "=" takes an image's variable away instead of setting it.
    Env: neutralised,
    Tty: false,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    StopSignal: "SIGTERM",
    StopTimeout: 2,
    Healthcheck: { Test: ["NONE"] },
    Labels: {
      [LABEL.deployment]: owner.deploymentId,
      [LABEL.worker]: owner.workerId,
      [LABEL.tenant]: purpose.tenant,
      [LABEL.workspace]: purpose.workspaceId,
      [LABEL.deadline]: String(purpose.deadlineMs),
      ...(purpose.commandId === null ? {} : { [LABEL.command]: purpose.commandId }),
      ...(purpose.isProbe === true ? { [LABEL.probe]: "yes" } : {}),
    },
    HostConfig: {
      ...(profile.ociRuntime === null ? {} : { Runtime: profile.ociRuntime }),
      NetworkMode: profile.network,
      ReadonlyRootfs: true,
      Privileged: false,
      CapDrop: ["ALL"],
      CapAdd: ["SETUID", "SETGID", "SETPCAP", "KILL"],
      // No seccomp entry: the engine's default profile applies; the probe refuses an engine without one.
      SecurityOpt: ["no-new-privileges:true"],
      IpcMode: "private",
      PidMode: "",
      UTSMode: "",
      UsernsMode: "",
      CgroupnsMode: "private",
      Memory: limits.memoryBytes,
      MemorySwap: limits.memoryBytes,
      NanoCpus: limits.nanoCpus,
      PidsLimit: limits.pids,
      OomScoreAdj: 500,
      OomKillDisable: false,
      Ulimits: [
        { Name: "nofile", Soft: limits.openFiles, Hard: limits.openFiles },
        { Name: "core", Soft: 0, Hard: 0 },
        { Name: "fsize", Soft: FILE_BYTES, Hard: FILE_BYTES },
      ],
      Mounts: [
        bindMount(purpose.workspacePath, WORKSPACE_TARGET, false),
        bindMount(owner.initPath, INIT_TARGET, true),
        // A declared volume would be an unbounded directory on the host's disk; this is a bounded one in memory.
        ...[...image.volumes]
          .filter((path) => !isOwnTarget(path))
          .sort()
          .map(
            (path): ContainerMount => ({
              Type: "tmpfs",
              Target: path,
              TmpfsOptions: { SizeBytes: limits.tmpBytes, Mode: 0o1777 },
            }),
          ),
      ],
      Tmpfs: {
        "/tmp": tmpfs(limits.tmpBytes, "1777", [exec]),
        [HOME_TARGET]: tmpfs(limits.homeBytes, "0700", [exec, ...ownedBy]),
      },
      ShmSize: limits.shmBytes,
      LogConfig: { Type: "none", Config: {} },
      RestartPolicy: { Name: "no", MaximumRetryCount: 0 },
      AutoRemove: false,
      Init: false,
      Binds: null,
      Devices: [],
      DeviceRequests: [],
      GroupAdd: [],
      PublishAllPorts: false,
    },
  };
}
