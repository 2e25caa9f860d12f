import { describe, expect, it } from "vitest";
import { buildContainerSpec, unusableVolumes } from "../../../../src/adapters/docker/host-config.js";
import { DEFAULT_CONTAINER_LIMITS } from "../../../../src/domain/limits.js";
import type { ContainerPurpose } from "../../../../src/ports/container-runtime.js";

const purpose: ContainerPurpose = {
  tenant: "acme",
  workspaceId: "site",
  workspacePath: "/srv/workspaces/acme/site",
  workspaceIdentity: "1:1:0",
  uid: 10_001,
  gid: 10_002,
  profile: {
    name: "default",
    image: "sha256:aa",
    imageDigest: "sha256:aa",
    network: "none",
    ociRuntime: null,
    limits: DEFAULT_CONTAINER_LIMITS,
  },
  commandId: "cmd_1",
  deadlineMs: 1_800_000_000_000,
};
const owner = { deploymentId: "prod", workerId: "wrk_1", initPath: "/opt/bailiff/bailiff-init" };
const plain = { volumes: [], environmentNames: [] };

describe("the container's configuration", () => {
  it("is exactly this one", () => {
    expect(buildContainerSpec(purpose, owner, plain)).toEqual({
      Image: "sha256:aa",
      Hostname: "sandbox",
      Domainname: "",
      User: "0:0",
      WorkingDir: "/",
      Entrypoint: ["/.bailiff/init"],
      Cmd: [],
      Env: [
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
      ],
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
        "bailiff.deployment": "prod",
        "bailiff.worker": "wrk_1",
        "bailiff.tenant": "acme",
        "bailiff.workspace": "site",
        "bailiff.command": "cmd_1",
        "bailiff.deadline": "1800000000000",
      },
      HostConfig: {
        NetworkMode: "none",
        ReadonlyRootfs: true,
        Privileged: false,
        CapDrop: ["ALL"],
        CapAdd: ["SETUID", "SETGID", "SETPCAP", "KILL"],
        SecurityOpt: ["no-new-privileges:true"],
        IpcMode: "private",
        PidMode: "",
        UTSMode: "",
        UsernsMode: "",
        CgroupnsMode: "private",
        Memory: 512 << 20,
        MemorySwap: 512 << 20,
        NanoCpus: 1_000_000_000,
        PidsLimit: 256,
        OomScoreAdj: 500,
        OomKillDisable: false,
        Ulimits: [
          { Name: "nofile", Soft: 1024, Hard: 1024 },
          { Name: "core", Soft: 0, Hard: 0 },
          { Name: "fsize", Soft: 2 ** 32, Hard: 2 ** 32 },
        ],
        Mounts: [
          {
            Type: "bind",
            Source: "/srv/workspaces/acme/site",
            Target: "/workspace",
            ReadOnly: false,
            BindOptions: { Propagation: "rprivate", NonRecursive: true },
          },
          {
            Type: "bind",
            Source: "/opt/bailiff/bailiff-init",
            Target: "/.bailiff/init",
            ReadOnly: true,
            BindOptions: { Propagation: "rprivate", NonRecursive: true },
          },
        ],
        Tmpfs: {
          "/tmp": "rw,nosuid,nodev,size=67108864,nr_inodes=65536,mode=1777,noexec",
          "/home/agent": "rw,nosuid,nodev,size=67108864,nr_inodes=65536,mode=0700,noexec,uid=10001,gid=10002",
        },
        ShmSize: 16 << 20,
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
    });
  });

  it("has no command label while it waits for a command", () => {
    const { Labels } = buildContainerSpec({ ...purpose, commandId: null }, owner, plain);
    expect(Labels).not.toHaveProperty(["bailiff.command"]);
  });

  it("names an OCI runtime only where the profile does", () => {
    const profile = { ...purpose.profile, ociRuntime: "runsc" };
    expect(buildContainerSpec({ ...purpose, profile }, owner, plain).HostConfig["Runtime"]).toBe("runsc");
  });

  it("lets temporary files be executed only where the profile says so", () => {
    const profile = { ...purpose.profile, execInTmp: true };
    const tmpfs = buildContainerSpec({ ...purpose, profile }, owner, plain).HostConfig["Tmpfs"];
    expect(Object.values(tmpfs as Record<string, string>)).toEqual([
      expect.stringMatching(/,exec$/),
      expect.stringMatching(/,exec,uid=/),
    ]);
  });

  it("takes every variable of the image away (FB-28)", () => {
    const spec = buildContainerSpec(purpose, owner, { volumes: [], environmentNames: ["PATH", "TOKEN"] });
    expect(spec.Env).toEqual(expect.arrayContaining(["PATH", "TOKEN", "LD_PRELOAD"]));
    expect(spec.Env.some((entry) => entry.includes("="))).toBe(false);
  });

  it("puts a bounded tmpfs where the image declares a volume, and never over its own mounts", () => {
    const volumes = ["/var/lib/db", "/tmp", "/workspace", "/home/agent"];
    const { Mounts } = buildContainerSpec(purpose, owner, { volumes, environmentNames: [] }).HostConfig;
    expect(Mounts.slice(2)).toEqual([
      { Type: "tmpfs", Target: "/var/lib/db", TmpfsOptions: { SizeBytes: 64 << 20, Mode: 0o1777 } },
    ]);
  });

  it("can't be made with a declared volume inside the workspace or over bailiff-init", () => {
    const volumes = [
      "/",
      "/workspace/x",
      "/workspace/../workspace/y",
      "/.bailiff",
      "/.bailiff/init",
      "/workspace",
      "/w",
    ];
    expect(unusableVolumes({ volumes, environmentNames: [] })).toEqual(volumes.slice(0, 5));
  });
});
