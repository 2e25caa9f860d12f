import Docker from "dockerode";
import { test } from "vitest";
import { type Agent, type BailiffProcess, createInstallation, openAgent } from "../support/bailiff.js";
import { ENGINE_MATRIX } from "../support/crash/crash-matrix.js";
import { ledgerLines, ledgerProgram, letGo, SHORT_TIMES, verdictOf } from "../support/crash/lane.js";
import { metricValue } from "../support/crash/metric-value.js";
import { recordVerdicts } from "../support/crash/verdicts.js";
import { containersOf } from "../support/engine-containers.js";
import { readTestEnvironment } from "../support/environment.js";
import { createProxiedEngine } from "../support/proxied-engine.js";
import { type RedisServer, startRedisServer } from "../support/redis-server.js";
import { type SecondEngine, startSecondEngine } from "../support/second-engine.js";
import { until } from "../support/until.js";

const LIMIT_MS = 240_000;

/** Longer than an engine takes that eight deployments keep busy, so that only a silent one misses it. */
const CALL_LIMIT_MS = 20_000;

/** A deployment of one test. */
interface Place {
  readonly redis: RedisServer;
  readonly deployment: string;
  start(role: "api" | "worker" | "all", settings?: Record<string, unknown>): Promise<BailiffProcess>;
}

async function inPlace(work: (place: Place) => Promise<void>): Promise<void> {
  const redis = await startRedisServer();
  const installation = await createInstallation({ redis: { url: redis.url }, worker: SHORT_TIMES });
  installations.set(redis, installation);
  try {
    await work({ redis, deployment: installation.deployment, start: installation.start });
  } finally {
    installations.delete(redis);
    await installation.remove();
    await redis.stop();
  }
}
const installations = new Map<RedisServer, Awaited<ReturnType<typeof createInstallation>>>();

function agentOf(place: Place, service: BailiffProcess): Promise<Agent> {
  const installation = installations.get(place.redis);
  if (installation === undefined) throw new Error("the place is closed");
  return openAgent(installation, service);
}

async function stateOf(service: BailiffProcess, agent: Agent, id: string): Promise<string> {
  return (await service.call(agent.key, "GET", `/v1/commands/${id}`)).body.state;
}

/** Starts a command that runs until it is let go. */
async function running(agent: Agent, name: string, timeoutS = 200) {
  const { body } = await agent.submit(ledgerProgram(name), { timeout_s: timeoutS }, {});
  await until(async () => (await ledgerLines(agent.directory, name)) === 1, LIMIT_MS);
  return { id: body.command_id as string, name };
}

async function settle(service: BailiffProcess, agent: Agent, id: string): Promise<void> {
  await until(async () => (await stateOf(service, agent, id)) === "finished", LIMIT_MS);
}

async function another(service: BailiffProcess, agent: Agent): Promise<string> {
  const { body } = await agent.submit(["true"], {}, {});
  await settle(service, agent, body.command_id);
  return (await service.call(agent.key, "GET", `/v1/commands/${body.command_id}`)).body.outcome;
}

const expected = (fault: string) => ENGINE_MATRIX.filter((row) => row.fault === fault);

test.concurrent.for([
  ["killed", (docker: Docker, id: string) => docker.getContainer(id).kill()],
  ["stopped", (docker: Docker, id: string) => docker.getContainer(id).stop({ t: 5 })],
  ["removed", (docker: Docker, id: string) => docker.getContainer(id).remove({ force: true })],
] as const)(
  "a container %s from outside is a lost command, and its slot is free",
  async ([how, act], { expect }) => {
    await inPlace(async (place) => {
      const service = await place.start("all", { worker: { concurrency: 1 } });
      const agent = await agentOf(place, service);
      const command = await running(agent, "target");
      const [container = ""] = await containersOf(place.deployment);
      await act(new Docker({ socketPath: readTestEnvironment().dockerSocket }), container);
      await settle(service, agent, command.id);
      const fault = `container ${how} from outside`;
      const verdict = await verdictOf(service, agent, command, { fault, step: "argv sent" });
      recordVerdicts([verdict]);
      expect([verdict]).toEqual(expected(fault));
      expect(await another(service, agent)).toBe("completed");
      await until(async () => (await containersOf(place.deployment)).length === 0, LIMIT_MS);
      expect(await metricValue(service, agent.key, /^bailiff_commands_finished_total\{outcome="lost",/)).toBe(
        1,
      );
    });
  },
);

test.concurrent.for([
  ["engine restarted", false, "SIGTERM"],
  ["engine restarted with live-restore", true, "SIGTERM"],
  ["engine killed and restarted with live-restore", true, "SIGKILL"],
] as const)(
  "%s: the command is lost only once nothing of it is left, and commands run again (FB-47)",
  async ([fault, liveRestore, signal], { expect }) => {
    let engine: SecondEngine | null = null;
    try {
      engine = await startSecondEngine({ liveRestore });
      const { docker, socketPath } = engine;
      await inPlace(async (place) => {
        const service = await place.start("all", {
          worker: { concurrency: 1 },
          docker: { host: `unix://${socketPath}` },
        });
        const agent = await agentOf(place, service);
        const command = await running(agent, "target");
        await engine?.restart(signal);
        await settle(service, agent, command.id);
        const left = await docker.listContainers({
          all: true,
          filters: { label: [`bailiff.command=${command.id}`] },
        });
        expect(left).toEqual([]);
        const verdict = await verdictOf(service, agent, command, { fault, step: "argv sent" });
        recordVerdicts([verdict]);
        expect([verdict]).toEqual(expected(fault));
        await until(async () => (await another(service, agent)) === "completed", LIMIT_MS);
      });
    } finally {
      await engine?.stop();
    }
  },
);

test.concurrent("an engine that accepts and never answers starts nothing, frees the slot, and is used again (FB-22)", async ({
  expect,
}) => {
  const proxy = await createProxiedEngine(readTestEnvironment().dockerSocket);
  try {
    await inPlace(async (place) => {
      const service = await place.start("all", {
        worker: { concurrency: 1 },
        docker: { host: `unix://${proxy.socketPath}`, call_limit_ms: CALL_LIMIT_MS },
      });
      const agent = await agentOf(place, service);
      proxy.silence("create", "unsent");
      const { body } = await agent.submit(ledgerProgram("create"), {}, {});
      const unstarted = { id: body.command_id as string, name: "create" };
      await settle(service, agent, unstarted.id);
      const first = await verdictOf(service, agent, unstarted, {
        fault: "engine silent on create",
        step: "taken",
      });
      proxy.speak();

      proxy.silence("remove", "unsent");
      proxy.silence("kill", "unsent");
      const command = await running(agent, "remove");
      await letGo(agent.directory, "remove");
      await settle(service, agent, command.id);
      const second = await verdictOf(service, agent, command, {
        fault: "engine silent on remove",
        step: "exited",
      });
      expect(await containersOf(place.deployment)).not.toEqual([]);
      expect(await another(service, agent)).toBe("completed");
      proxy.speak();
      await until(async () => (await containersOf(place.deployment)).length === 0, LIMIT_MS);

      recordVerdicts([first, second]);
      expect([first]).toEqual(expected("engine silent on create"));
      expect([second]).toEqual(expected("engine silent on remove"));
      expect(
        await metricValue(service, agent.key, /^bailiff_container_start_failures_total\{code="deadline"\} /),
      ).toBeGreaterThanOrEqual(3);
      expect(
        await metricValue(service, agent.key, /^bailiff_container_removal_failures_total /),
      ).toBeGreaterThan(0);
      expect(await metricValue(service, agent.key, /^bailiff_containers_swept_total /)).toBeGreaterThan(0);
    });
  } finally {
    await proxy.close();
  }
});

test.concurrent("a frozen container on a silent engine is lost only after its own time (FB-22)", async ({
  expect,
}) => {
  const proxy = await createProxiedEngine(readTestEnvironment().dockerSocket);
  const docker = new Docker({ socketPath: readTestEnvironment().dockerSocket });
  try {
    await inPlace(async (place) => {
      const service = await place.start("all", {
        worker: { concurrency: 1 },
        docker: { host: `unix://${proxy.socketPath}`, call_limit_ms: CALL_LIMIT_MS },
      });
      const agent = await agentOf(place, service);
      const command = await running(agent, "target", 5);
      const [container = ""] = await containersOf(place.deployment);
      await docker.getContainer(container).pause();
      for (const call of ["inspect", "kill", "remove"] as const) proxy.silence(call, "unsent");
      await settle(service, agent, command.id);
      const { body } = await service.call(agent.key, "GET", `/v1/commands/${command.id}`);
      expect(Date.parse(body.finished_at) - Date.parse(body.dispatched_at)).toBeGreaterThan(5_000);
      expect(await another(service, agent)).toBe("completed");
      proxy.speak();
      await until(async () => (await containersOf(place.deployment)).length === 0, LIMIT_MS);
      const fault = "engine silent, container frozen";
      const verdict = await verdictOf(service, agent, command, { fault, step: "argv sent" });
      recordVerdicts([verdict]);
      expect([verdict]).toEqual(expected(fault));
    });
  } finally {
    await proxy.close();
  }
});

test.concurrent("a dead worker's container that the engine does not remove keeps the verdict until its own time is over (FB-45)", async ({
  expect,
}) => {
  const proxy = await createProxiedEngine(readTestEnvironment().dockerSocket);
  try {
    await inPlace(async (place) => {
      const api = await place.start("api");
      const doomed = await place.start("worker", { worker: { concurrency: 1 } });
      const agent = await agentOf(place, api);
      const command = await running(agent, "target", 25);
      proxy.silence("remove", "unsent");
      proxy.silence("kill", "unsent");
      await doomed.kill();
      await place.start("worker", {
        docker: { host: `unix://${proxy.socketPath}`, call_limit_ms: CALL_LIMIT_MS },
      });
      await settle(api, agent, command.id);
      const { body } = await api.call(agent.key, "GET", `/v1/commands/${command.id}`);
      expect(Date.parse(body.finished_at) - Date.parse(body.dispatched_at)).toBeGreaterThan(25_000);
      proxy.speak();
      await until(async () => (await containersOf(place.deployment)).length === 0, LIMIT_MS);
      const fault = "worker killed, engine removes nothing";
      const verdict = await verdictOf(api, agent, command, { fault, step: "argv sent" });
      recordVerdicts([verdict]);
      expect([verdict]).toEqual(expected(fault));
      expect(await another(api, agent)).toBe("completed");
    });
  } finally {
    await proxy.close();
  }
});
