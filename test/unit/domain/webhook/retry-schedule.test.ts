import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { retryPauseMs } from "../../../../src/domain/webhook/retry-schedule.js";

const SCHEDULE = { attempts: 6, firstRetryMs: 1_000, maxAgeMs: 3_600_000 };

describe("the pause before the next attempt", () => {
  it("doubles, and half of it is chance", () => {
    expect([1, 2, 3, 4].map((attempts) => retryPauseMs(SCHEDULE, attempts, 0, 1))).toEqual([
      1_000, 2_000, 4_000, 8_000,
    ]);
    expect(retryPauseMs(SCHEDULE, 3, 0, 0)).toBe(2_000);
  });

  it("ends with the attempts and with the time", () => {
    expect(retryPauseMs(SCHEDULE, 6, 0, 1)).toBeNull();
    expect(retryPauseMs(SCHEDULE, 1, 3_599_500, 1)).toBeNull();
    expect(retryPauseMs(SCHEDULE, 1, 3_599_500, 0)).toBe(500);
  });

  it("is bounded for every schedule and always comes to an end", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempts, chance) => {
          let ageMs = 0;
          for (let made = 1; ; made += 1) {
            const pauseMs = retryPauseMs(
              { attempts, firstRetryMs: 5_000, maxAgeMs: 86_400_000 },
              made,
              ageMs,
              chance,
            );
            if (pauseMs === null) {
              expect(made).toBeLessThanOrEqual(attempts);
              return;
            }
            expect(pauseMs).toBeGreaterThanOrEqual(2_500);
            expect(pauseMs).toBeLessThanOrEqual(3_600_000);
            ageMs += pauseMs;
            expect(ageMs).toBeLessThanOrEqual(86_400_000);
          }
        },
      ),
    );
  });
});
