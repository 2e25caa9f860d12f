import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTraceparent, traceFields } from "../../../src/domain/trace-context.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

describe("a traceparent header", () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`],
    [`00-${TRACE}-${SPAN}-00`, `00-${TRACE}-${SPAN}-00`],
    [`00-${TRACE}-${SPAN}-ff`, `00-${TRACE}-${SPAN}-01`],
    [`cc-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`],
    [`cc-${TRACE}-${SPAN}-01-what-the-future-holds`, `00-${TRACE}-${SPAN}-01`],
  ])("%s is read as %s", (header, read) => {
    expect(readTraceparent(header)).toBe(read);
  });

  it.each([
    undefined,
    null,
    "",
    [`00-${TRACE}-${SPAN}-01`],
    `ff-${TRACE}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-01\n`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01-${"x".repeat(300)}`,
    `cc-${TRACE}-${SPAN}-01.x`,
  ])("%j counts as absent", (header) => {
    expect(readTraceparent(header)).toBeNull();
  });

  it("is never read as anything but the form of version 00, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."0123456789abcdefF-\n ") }), (tail) => {
        const read = readTraceparent(`0${tail}`) ?? readTraceparent(`01-${TRACE}-${SPAN}-${tail}`);
        if (read !== null) expect(read).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
      }),
    );
  });

  it("gives log lines its trace", () => {
    expect(traceFields(`00-${TRACE}-${SPAN}-01`)).toEqual({ trace_id: TRACE });
    expect(traceFields(null)).toEqual({});
    expect(traceFields(undefined)).toEqual({});
  });
});
