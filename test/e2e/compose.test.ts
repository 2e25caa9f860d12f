import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ComposeInstallation,
  createComposeInstallation,
} from "../support/compose/compose-installation.js";
import { FILES_OF_IMAGE, PATH_OF_IMAGE } from "../support/image-contents.js";
import { until } from "../support/until.js";

const BUILD_LIMIT_MS = 900_000;
const WAIT_LIMIT_MS = 180_000;
/** Of each of the three workers. */
const CONCURRENCY = 2;

let installation: ComposeInstallation;
let key: string;
let sessionId: string;

const call = async (method: string, path: string, body?: unknown) => {
  const response = await fetch(`${installation.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
};

const inspect = async (service: string) => {
  const found = (await installation.containers()).filter((container) => container.service === service);
  return Promise.all(found.map(({ id }) => installation.docker.getContainer(id).inspect()));
};

/** The password of Redis, as Redis has it. */
const password = async () => {
  const script = "read -r word </run/bailiff/redis-password; echo $word";
  return (await installation.shell(`docker-compose exec -T redis /bin/sh -c '${script}'`)).trim();
};

const isHealthy = async () => {
  const services = await Promise.all(["redis", "api", "worker"].map(inspect));
  return services.flat().every(({ State }) => State.Health?.Status === "healthy");
};

beforeAll(async () => {
  installation = await createComposeInstallation({ BAILIFF_WORKER_CONCURRENCY: String(CONCURRENCY) });
  await installation.page("deployment", "Start");
  await until(isHealthy, WAIT_LIMIT_MS);
}, BUILD_LIMIT_MS);

afterAll(async () => {
  await installation?.remove();
}, WAIT_LIMIT_MS);

describe("the installation of docker-compose.yml", () => {
  test("runs three workers, all healthy, and the page's first command prints what it was told", async () => {
    expect(await inspect("worker")).toHaveLength(3);
    expect(await installation.page("deployment", "A key and a first command")).toBe("a * b\n");
  });

  test("is found in order by bailiff doctor", async () => {
    const lines = (await installation.page("deployment", "Check")).trim().split("\n");
    expect(lines.filter((line) => !line.startsWith("ok "))).toEqual([]);
    expect(lines).toHaveLength(10);
  });

  test("gives no service a capability, a writable root or new privileges, and the engine's socket to workers alone", async () => {
    for (const service of ["redis", "api", "worker"]) {
      for (const { HostConfig, Config, Mounts } of await inspect(service)) {
        expect(Config.User).toBe("10001:10001");
        expect(HostConfig).toMatchObject({
          ReadonlyRootfs: true,
          CapDrop: ["ALL"],
          CapAdd: null,
          SecurityOpt: ["no-new-privileges:true"],
          Privileged: false,
          RestartPolicy: { Name: "unless-stopped" },
        });
        const hasSocket = Mounts.some(({ Destination }) => Destination === "/var/run/docker.sock");
        expect(hasSocket).toBe(service === "worker");
      }
    }
  });

  test("runs an image with every file that Compose and the chart call by name", async () => {
    const [api] = await inspect("api");
    const container = installation.docker.getContainer(api?.Id ?? "");
    for (const path of FILES_OF_IMAGE) await container.infoArchive({ path });
    expect(api?.Config.Env).toContain(`PATH=${PATH_OF_IMAGE}`);
  });

  test("shows the password of Redis to nobody who looks at its containers", async () => {
    const [redis] = await inspect("redis");
    const secret = await password();
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    const all = JSON.stringify(await Promise.all(["prepare", "redis", "api", "worker"].map(inspect)));
    expect(all).toContain(redis?.Id);
    expect(all).not.toContain(secret);
  });

  test("loses only what a killed worker had begun; what was queued runs, once, and the worker comes back", async () => {
    const printed = await installation.shell(
      "docker-compose exec -T api bailiff keys create --tenant acme --principal me --scopes admin --json",
    );
    key = JSON.parse(printed).key;
    await call("PUT", "/v1/workspaces/main");
    sessionId = (await call("POST", "/v1/sessions", { workspace_id: "main", grant: { level: "allow_all" } }))
      .session_id;
    // Each says that it began, then waits for a file that comes once the worker is dead.
    const script = 'echo "$1" >> begun; while [ ! -e go ]; do sleep 0.2; done; echo "done $1"';
    const submit = async (name: string) =>
      (
        await call("POST", `/v1/sessions/${sessionId}/commands`, {
          argv: ["sh", "-c", script, "sh", name],
          timeout_s: 240,
        })
      ).command_id as string;
    const names = Array.from({ length: 10 }, (_, index) => `n${index}`);
    const ids = await Promise.all(names.map(submit));
    const read = () => Promise.all(ids.map((id) => call("GET", `/v1/commands/${id}`)));
    const slots = 3 * CONCURRENCY;
    await until(
      async () => (await read()).filter(({ state }) => state === "dispatched").length === slots,
      WAIT_LIMIT_MS,
    );

    const [victim] = await inspect("worker");
    process.kill(victim?.State.Pid ?? Number.NaN, "SIGKILL");
    await until(
      async () => (await read()).filter(({ outcome }) => outcome === "lost").length === CONCURRENCY,
      WAIT_LIMIT_MS,
    );
    await installation.shell('touch "$BAILIFF_HOME/workspaces/acme/main/go"');
    await until(async () => (await read()).every(({ state }) => state === "finished"), WAIT_LIMIT_MS);

    const ends = await read();
    const lost = ends.filter(({ outcome }) => outcome === "lost");
    expect(lost.map(({ effect }) => effect)).toEqual(Array(CONCURRENCY).fill("unknown"));
    const completed = ends.filter(({ outcome }) => outcome === "completed");
    expect(completed.map(({ stdout }) => stdout)).toEqual(
      names.filter((_, index) => ends[index].outcome === "completed").map((name) => `done ${name}\n`),
    );
    expect(completed).toHaveLength(names.length - CONCURRENCY);
    const beginnings = (await installation.shell('cat "$BAILIFF_HOME/workspaces/acme/main/begun"'))
      .trim()
      .split("\n");
    expect(beginnings.sort()).toEqual([...new Set(beginnings)].sort());
    await until(async () => {
      const [again] = (await inspect("worker")).filter(({ Id }) => Id === victim?.Id);
      return (again?.RestartCount ?? 0) > 0 && again?.State.Health?.Status === "healthy";
    }, WAIT_LIMIT_MS);
  });

  test("is operated as docs/operations.md says: upgraded, scaled down, given new keys and a new password, backed up", async () => {
    await installation.page("operations", "Fewer workers");
    expect(await inspect("worker")).toHaveLength(2);
    await installation.page("operations", "Upgrade");
    expect(await inspect("worker")).toHaveLength(3);
    const before = await password();
    await installation.page("operations", "The password of Redis");
    expect(await password()).not.toBe(before);
    await until(isHealthy, WAIT_LIMIT_MS);
    await installation.page("operations", "Keys");
    const keys = await installation.shell("docker-compose exec -T api bailiff keys list");
    expect(keys.split("\n")[0]).not.toContain(" active ");
    await installation.page("operations", "Back up Redis");
    expect(await installation.shell("head -c 5 redis-backup.rdb")).toBe("REDIS");
    const printed = await installation.page("operations", "A worker died");
    expect(printed).toContain("worker takes commands");
    expect(printed).not.toContain("FAIL");
  });

  test("is taken down without a trace", async () => {
    await installation.page("deployment", "Take it down");
    expect(await installation.containers()).toEqual([]);
    await installation.shell("docker-compose down --volumes");
    expect(await installation.traces()).toEqual([]);
  });
});
