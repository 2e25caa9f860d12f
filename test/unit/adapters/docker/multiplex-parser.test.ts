import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMultiplexParser } from "../../../../src/adapters/docker/multiplex-parser.js";
import { byteByByte, cutAt, cutPlaces } from "../../../support/byte-splits.js";
import { encodeFrame } from "../../../support/init-protocol.js";

interface Piece {
  readonly type: number;
  readonly payload: Buffer;
}

const piece: fc.Arbitrary<Piece> = fc.record({
  type: fc.constantFrom(0, 1, 2),
  payload: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
});

function parse(chunks: readonly Buffer[]) {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  const parser = createMultiplexParser({
    stdout: (slice) => stdout.push(Buffer.from(slice)),
    stderr: (slice) => stderr.push(Buffer.from(slice)),
  });
  for (const chunk of chunks) parser.push(chunk);
  return { stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr), whole: parser.atBoundary() };
}

function expected(pieces: readonly Piece[]) {
  const of = (wanted: (type: number) => boolean) =>
    Buffer.concat(pieces.filter(({ type }) => wanted(type)).map(({ payload }) => payload));
  return { stdout: of((type) => type < 2), stderr: of((type) => type === 2), whole: true };
}

const encode = (pieces: readonly Piece[]) =>
  Buffer.concat(pieces.map(({ type, payload }) => encodeFrame(type, payload)));

describe("the Engine's multiplexed stream", () => {
  it("is taken apart alike however it is cut (FB-5)", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), cutPlaces(900), (pieces, places) => {
        expect(parse(cutAt(encode(pieces), places))).toEqual(expected(pieces));
      }),
    );
  });

  it("is taken apart byte by byte (FB-5)", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        expect(parse(byteByByte(encode(pieces)))).toEqual(expected(pieces));
      }),
    );
  });

  it("survives a header cut in every position (FB-5)", () => {
    const pieces = [
      { type: 1, payload: Buffer.from("out") },
      { type: 2, payload: Buffer.from("err") },
    ];
    for (let at = 0; at <= encode(pieces).length; at += 1) {
      expect(parse(cutAt(encode(pieces), [at]))).toEqual(expected(pieces));
    }
  });

  it("passes the payload of a frame of any length on before the frame is complete", () => {
    const header = encodeFrame(1).fill(0xff, 4);
    const seen = parse([header, Buffer.from("first"), Buffer.from("second")]);
    expect(seen.stdout.toString()).toBe("firstsecond");
    expect(seen.whole).toBe(false);
  });

  it("takes 100,000 frames of one byte in one chunk without ever joining them (FB-5)", () => {
    const frames = Buffer.concat([encodeFrame(1, Buffer.from("x")), encodeFrame(2, Buffer.from("y"))]);
    const many = Buffer.alloc(frames.length * 50_000, frames);
    let out = 0;
    let err = 0;
    const parser = createMultiplexParser({
      stdout: (slice) => {
        expect(slice.buffer).toBe(many.buffer);
        out += slice.length;
      },
      stderr: (slice) => {
        err += slice.length;
      },
    });
    parser.push(many);
    expect([out, err]).toEqual([50_000, 50_000]);
  });

  it("is refused at an unknown type or a header that is none", () => {
    for (let type = 3; type <= 255; type += 1) {
      expect(() => parse([encodeFrame(type, Buffer.from("x"))])).toThrow("unknown frame type");
    }
    for (const at of [1, 2, 3]) {
      const frame = encodeFrame(1, Buffer.from("x"));
      frame[at] = 1;
      expect(() => parse([frame])).toThrow("malformed");
    }
  });
});
