import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.{ts,mjs}"],
          testTimeout: 20_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          globalSetup: ["test/support/require-real-parts.ts"],
          // Real containers share one engine and two cores: side by side, files would only time each other out.
          maxWorkers: 1,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/support/require-real-parts.ts"],
          maxWorkers: 1,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "crash",
          include: ["test/crash/**/*.test.ts"],
          globalSetup: ["test/support/require-real-parts.ts", "test/support/crash/verdicts.ts"],
          // Most of their time is spent waiting for leases to run out, each file in a deployment of its own.
          maxWorkers: 2,
          maxConcurrency: 4,
          testTimeout: 480_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
