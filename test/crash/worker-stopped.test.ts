import { expect, test } from "vitest";
import { stepsOf, WORKER_MATRIX } from "../support/crash/crash-matrix.js";
import { runLane } from "../support/crash/lane.js";
import { recordVerdicts } from "../support/crash/verdicts.js";

test("a worker stopped at any step beyond its lease changes no verdict when it goes on, and works again (FB-43)", async () => {
  const verdicts = await runLane("stopped", stepsOf("stopped"));
  recordVerdicts(verdicts);
  expect(verdicts).toEqual(WORKER_MATRIX.filter(({ fault }) => fault === "stopped"));
});
