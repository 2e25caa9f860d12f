import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runProcess } from "../../../dist/main/processes.js";
import { readConfig } from "../../../dist/main/read-config.js";
import { createTcpProxy } from "./tcp-proxy.mjs";

/**
 * A whole worker process, as it was built, that strikes itself once, at one step of the first command that it gets there.
 * `faults.ts` names the steps and the faults. In plain JavaScript, as many of them start at the same time.
 * Arguments: configuration file, step, fault, and a file whose appearance ends a blocked event loop or a partition.
 */
const [configPath, step, fault, releasePath] = process.argv.slice(2);
const POLL_MS = 20;
const ACKNOWLEDGED_AFTER_MS = 500;
let armed = true;

const pauseThread = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** The way to Redis, where it is to be cut. */
let proxy = null;
if (fault === "partitioned") {
  proxy = await createTcpProxy(Number(new URL(readConfig(configPath).redis.url).port));
  process.env.BAILIFF_REDIS_URL = `redis://127.0.0.1:${proxy.port}`;
}

async function partition() {
  if (step === "claim unanswered") proxy.cutAnswers();
  else proxy.cut();
  while (!existsSync(releasePath)) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  proxy.heal();
}

/** Does nothing but at the one step, the first time. */
async function strike(at, commandId) {
  if (!armed || at !== step) return;
  armed = false;
  // From one moment to the next: a worker that waits here would think that it had stood still.
  if (fault === "partitioned") void partition();
  const told = new Promise((resolve, reject) => {
    process.send({ struck: step, commandId }, (error) => (error ? reject(error) : resolve()));
  });
  if (fault === "partitioned") return;
  await told;
  switch (fault) {
    case "killed":
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => undefined);
    case "stopped":
      process.kill(process.pid, "SIGSTOP");
      return;
    case "blocked":
      while (!existsSync(releasePath)) pauseThread(POLL_MS);
  }
}

function faultyContainer(container) {
  const commandId = container.purpose.commandId ?? "";
  return {
    ...container,
    async run(request, signal) {
      const inWorkspace = (name) => join(container.purpose.workspacePath, `${name}-${request.argv.at(-1)}`);
      if (armed && step !== "argv sent") writeFileSync(inWorkspace("go"), "");
      const pending = container.run(request, signal);
      if (armed && step === "argv sent") {
        while (!existsSync(inWorkspace("ledger")))
          await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        await strike("argv sent", commandId);
      }
      const end = await pending;
      await strike("exited", commandId);
      return end;
    },
  };
}

const seams = {
  runtime: (runtime) => ({
    ...runtime,
    async prepare(purpose, signal) {
      const container = await runtime.prepare(purpose, signal);
      await strike("container ready", purpose.commandId ?? "");
      return faultyContainer(container);
    },
  }),
  commands: (commands) => ({
    ...commands,
    async get(commandId) {
      await strike("taken", commandId);
      return commands.get(commandId);
    },
    async claim(claim) {
      await strike("claim unanswered", claim.commandId);
      const answer = await commands.claim(claim);
      if (answer.kind === "claimed") await strike("claimed", claim.commandId);
      return answer;
    },
    async finish(commandId, fence, result) {
      const stands = await commands.finish(commandId, fence, result);
      await strike("result written", commandId);
      if (step === "acknowledged") {
        setTimeout(() => void strike("acknowledged", commandId), ACKNOWLEDGED_AFTER_MS);
      }
      return stands;
    },
  }),
};

const status = await runProcess("worker", readConfig(configPath), seams);
process.exit(status);
