import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runProcess } from "../../../dist/main/processes.js";
import { readConfig } from "../../../dist/main/read-config.js";

/**
 * A whole worker process, as it was built, that strikes itself once, at one step of the first command that it gets there.
 * `faults.ts` names the steps and the faults. In plain JavaScript, as many of them start at the same time.
 * Arguments: configuration file, step, fault, and a file whose appearance ends a blocked event loop.
 */
const [configPath, step, fault, releasePath] = process.argv.slice(2);
const POLL_MS = 20;
const ACKNOWLEDGED_AFTER_MS = 500;
let armed = true;

const pauseThread = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Does nothing but at the one step, the first time. */
async function strike(at, commandId) {
  if (!armed || at !== step) return;
  armed = false;
  const answered = new Promise((resolve) => process.once("message", () => resolve()));
  await new Promise((resolve, reject) => {
    process.send({ struck: step, commandId }, (error) => (error ? reject(error) : resolve()));
  });
  switch (fault) {
    case "killed":
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => undefined);
    case "stopped":
      process.kill(process.pid, "SIGSTOP");
      return;
    case "blocked":
      while (!existsSync(releasePath)) pauseThread(POLL_MS);
      return;
    case "partitioned":
      await answered;
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
