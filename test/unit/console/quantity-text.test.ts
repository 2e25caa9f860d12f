import { expect, it } from "vitest";
import { bytesText, durationText, spanText } from "../../../console/src/text/quantity-text.js";

it("tells spans, durations and sizes in the unit that fits", () => {
  expect([-5, 999, 59_999, 65_000, 3_660_000, 90_000_000].map(spanText)).toEqual([
    "0 s",
    "0 s",
    "59 s",
    "1 m 05 s",
    "1 h 01 m",
    "1 d 01 h",
  ]);
  expect([7.4, 1_234, 125_000].map(durationText)).toEqual(["7 ms", "1.2 s", "2 m 05 s"]);
  expect([13, 4_300, 5 * 1_024 ** 3].map(bytesText)).toEqual(["13 B", "4.2 KiB", "5.0 GiB"]);
});
