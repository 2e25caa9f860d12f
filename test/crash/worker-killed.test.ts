import { expect, test } from "vitest";
import { stepsOf, WORKER_MATRIX } from "../support/crash/crash-matrix.js";
import { runLane } from "../support/crash/lane.js";
import { recordVerdicts } from "../support/crash/verdicts.js";

test("a worker killed at any step leaves at most one run and a true verdict, and a peer goes on (FB-43, FB-45)", async () => {
  const verdicts = await runLane("killed", stepsOf("killed"));
  recordVerdicts(verdicts);
  expect(verdicts).toEqual(WORKER_MATRIX.filter(({ fault }) => fault === "killed"));
});
