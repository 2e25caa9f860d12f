import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createStreamCapture } from "../../../../src/adapters/docker/stream-capture.js";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const chunks = fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 30 });

describe("the capture of a stream", () => {
  it("gives back exactly what was written, and a copy of it", () => {
    fc.assert(
      fc.property(chunks, (written) => {
        const whole = Buffer.concat(written);
        const capture = createStreamCapture(200_000);
        for (const chunk of written) {
          const reused = Uint8Array.from(chunk);
          capture.write(reused);
          reused.fill(0xaa);
        }
        const settled = capture.settle(whole.length, sha256(whole));
        expect(settled).toEqual({
          bytes: new Uint8Array(whole),
          seenBytes: whole.length,
          sha256: sha256(whole),
        });
      }),
    );
  });

  it("takes exactly its cap and not one byte more", () => {
    const capture = createStreamCapture(5);
    capture.write(Buffer.from("abc"));
    capture.write(Buffer.from("de"));
    expect(() => capture.write(Buffer.from("f"))).toThrow("more output than it was asked for");
    expect(Buffer.from(capture.partial().bytes).toString()).toBe("abcde");
  });

  it("takes nothing with a cap of 0", () => {
    const capture = createStreamCapture(0);
    expect(capture.settle(10, "any")).toEqual({ bytes: new Uint8Array(0), seenBytes: 10, sha256: "any" });
    expect(() => capture.write(Buffer.from("x"))).toThrow();
  });

  it("vouches for a cut stream only when the whole prefix came", () => {
    const capture = createStreamCapture(4);
    capture.write(Buffer.from("abc"));
    expect(capture.settle(9, "any")).toBe("output is incomplete");
    capture.write(Buffer.from("d"));
    expect(capture.settle(9, "any")).toMatchObject({ seenBytes: 9, sha256: "any" });
  });

  it("does not vouch for more bytes than were seen, nor for other bytes", () => {
    const capture = createStreamCapture(100);
    capture.write(Buffer.from("abc"));
    expect(capture.settle(2, sha256(Buffer.from("ab")))).toBe("output is incomplete");
    expect(capture.settle(3, sha256(Buffer.from("abd")))).toBe("output does not match its digest");
  });

  it("says of a partial stream only what arrived", () => {
    const capture = createStreamCapture(100);
    capture.write(Buffer.from("abc"));
    expect(capture.partial()).toEqual({
      bytes: new Uint8Array(Buffer.from("abc")),
      seenBytes: 3,
      sha256: null,
    });
  });
});
