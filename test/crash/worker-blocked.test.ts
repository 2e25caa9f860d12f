import { expect, test } from "vitest";
import { stepsOf, WORKER_MATRIX } from "../support/crash/crash-matrix.js";
import { runLane } from "../support/crash/lane.js";
import { recordVerdicts } from "../support/crash/verdicts.js";

test("a worker whose event loop is blocked at any step beyond its lease changes no verdict, and works again (FB-43)", async () => {
  const verdicts = await runLane("blocked", stepsOf("blocked"));
  recordVerdicts(verdicts);
  expect(verdicts).toEqual(WORKER_MATRIX.filter(({ fault }) => fault === "blocked"));
});
