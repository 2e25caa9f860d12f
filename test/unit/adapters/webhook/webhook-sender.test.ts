import { afterEach, describe, expect, it } from "vitest";
import type { ResolveHost } from "../../../../src/adapters/webhook/resolve-host.js";
import { createWebhookSender } from "../../../../src/adapters/webhook/webhook-sender.js";
import type { WebhookPost } from "../../../../src/ports/webhook-sender.js";
import { RECEIVER_CERTIFICATE } from "../../../support/receiver-certificate.js";
import { type Receiver, startReceiver } from "../../../support/webhook-receiver.js";

const open: Receiver[] = [];
const receiver = async (options: Parameters<typeof startReceiver>[0] = {}) => {
  const started = await startReceiver(options);
  open.push(started);
  return started;
};
afterEach(async () => {
  for (const each of open.splice(0)) await each.stop();
});

const noResolver: ResolveHost = async () => {
  throw new Error("nothing is to be resolved");
};
const sender = (
  ports: readonly number[],
  more: { resolve?: ResolveHost; limitMs?: number; allow?: readonly string[]; ca?: string } = {},
) =>
  createWebhookSender({
    rules: { allowHttp: true, ports, allowAddresses: more.allow ?? ["127.0.0.1"] },
    limitMs: more.limitMs ?? 10_000,
    userAgent: "bailiff/test",
    resolve: more.resolve ?? noResolver,
    ...(more.ca === undefined ? {} : { ca: more.ca }),
  });
const postTo = (url: string, more: Partial<WebhookPost> = {}): WebhookPost => ({
  url,
  headers: { "content-type": "application/json", "bailiff-event": "finished" },
  body: '{"stdout":"\u00e9\u{1F600}"}',
  signal: new AbortController().signal,
  earlierAttempts: 0,
  ...more,
});

describe("a post", () => {
  it("arrives as it was given, and its status is the answer", async () => {
    const target = await receiver({ answer: (response) => response.writeHead(202).end() });
    expect(await sender([target.port]).post(postTo(`${target.url}?a=b`))).toEqual({
      kind: "answered",
      status: 202,
    });
    expect(target.received).toHaveLength(1);
    expect(target.received[0]).toMatchObject({
      path: "/hook?a=b",
      body: '{"stdout":"\u00e9\u{1F600}"}',
      headers: { "bailiff-event": "finished", "user-agent": "bailiff/test", connection: "close" },
    });
  });

  it("goes over TLS to a name whose certificate fits, and to no other", async () => {
    const target = await receiver({ tls: true });
    const resolve: ResolveHost = async () => ["127.0.0.1"];
    const trusting = sender([target.port], { resolve, ca: RECEIVER_CERTIFICATE });
    const answer = await trusting.post(postTo(`https://receiver.test:${target.port}/`));
    expect(answer).toEqual({ kind: "answered", status: 200 });
    expect(target.received[0]?.headers.host).toBe(`receiver.test:${target.port}`);
    const failed = { kind: "failed", code: "tls_failed" };
    expect(await trusting.post(postTo(`https://another.test:${target.port}/`))).toEqual(failed);
    expect(
      await sender([target.port], { resolve }).post(postTo(`https://receiver.test:${target.port}/`)),
    ).toEqual(failed);
    expect(target.received).toHaveLength(1);
  });

  it("does not follow a redirect, also not one to localhost (FB-53)", async () => {
    const inside = await receiver();
    const target = await receiver({
      answer: (response) => response.writeHead(307, { location: inside.url }).end(),
    });
    const answer = await sender([target.port, inside.port]).post(postTo(target.url));
    expect(answer).toEqual({ kind: "answered", status: 307 });
    expect(inside.received).toEqual([]);
  });

  it("goes to the address that was judged, whatever the name stands for a moment later (FB-53)", async () => {
    const first = await receiver();
    const inside = await receiver({ host: "127.0.0.2", port: first.port });
    let asked = 0;
    const resolve: ResolveHost = async () => {
      asked += 1;
      return [asked === 1 ? "127.0.0.1" : "127.0.0.2"];
    };
    const rebound = sender([first.port], { resolve });
    const url = `http://rebinding.test:${first.port}/`;
    expect(await rebound.post(postTo(url))).toEqual({ kind: "answered", status: 200 });
    expect(asked).toBe(1);
    expect(await rebound.post(postTo(url))).toEqual({ kind: "blocked", code: "address_loopback" });
    expect(first.received).toHaveLength(1);
    expect(inside.received).toEqual([]);
  });

  it("is not sent at all where one of a name's addresses is not allowed (FB-53)", async () => {
    const target = await receiver();
    for (const address of ["10.0.0.1", "::ffff:169.254.169.254", "::1", "fe80::1%lo", "not an address"]) {
      const resolve: ResolveHost = async () => ["127.0.0.1", address];
      const answer = await sender([target.port], { resolve }).post(
        postTo(`http://mixed.test:${target.port}/`),
      );
      expect(answer.kind, address).toBe("blocked");
    }
    expect(target.received).toEqual([]);
  });

  it("is not sent to an address that the URL itself holds (FB-53)", async () => {
    const target = await receiver();
    const strict = sender([80, target.port], { allow: [] });
    const urls = [
      "http://169.254.169.254/",
      "http://[::ffff:127.0.0.1]/",
      target.url,
      `http://0x7f.1:${target.port}/`,
    ];
    for (const url of urls) expect((await strict.post(postTo(url))).kind, url).toBe("blocked");
    expect(target.received).toEqual([]);
  });

  it("tries the next address of a name on the next attempt", async () => {
    const target = await receiver({ host: "127.0.0.2" });
    const two = sender([target.port], {
      resolve: async () => ["127.0.0.1", "127.0.0.2"],
      allow: ["127.0.0.0/8"],
    });
    const url = `http://two.test:${target.port}/`;
    expect(await two.post(postTo(url))).toEqual({ kind: "failed", code: "connection_refused" });
    expect(await two.post(postTo(url, { earlierAttempts: 1 }))).toEqual({ kind: "answered", status: 200 });
  });
});

describe("a receiver that does not behave", () => {
  it("is cut off at the deadline, before its answer and within it (FB-22)", async () => {
    const silent = await receiver({ answer: () => undefined });
    expect(await sender([silent.port], { limitMs: 300 }).post(postTo(silent.url))).toEqual({
      kind: "failed",
      code: "timed_out",
    });
    const trickling = await receiver({
      answer: (response) => {
        response.writeHead(200, { "content-length": "1000" });
        response.write("x");
      },
    });
    expect(await sender([trickling.port], { limitMs: 300 }).post(postTo(trickling.url))).toEqual({
      kind: "answered",
      status: 200,
    });
  });

  it("is read for 64 KiB and no further", async () => {
    let written = 0;
    let isCutOff = false;
    const endless = await receiver({
      answer: (response) => {
        response.writeHead(200);
        const chunk = Buffer.alloc(65_536);
        const more = () => {
          while (!response.destroyed && written < 64 << 20) {
            written += chunk.length;
            if (!response.write(chunk)) return;
          }
        };
        response.on("drain", more);
        response.on("close", () => {
          isCutOff = true;
        });
        more();
      },
    });
    const answer = await sender([endless.port]).post(postTo(endless.url));
    expect(answer).toEqual({ kind: "answered", status: 200 });
    await expect.poll(() => isCutOff, { timeout: 10_000 }).toBe(true);
    expect(written).toBeLessThan(64 << 20);
  });

  it("gives a code from a closed set, and no more", async () => {
    const hangsUp = await receiver({ answer: (response) => response.destroy() });
    const nonsense = await receiver({ answer: (response) => response.socket?.end("nonsense\r\n\r\n") });
    const gone = await receiver();
    await gone.stop();
    open.splice(open.indexOf(gone), 1);
    const codes: unknown[] = [];
    for (const { port, url } of [hangsUp, nonsense, gone]) codes.push(await sender([port]).post(postTo(url)));
    codes.push(await sender([80]).post(postTo("http://unknown.test/")));
    expect(codes).toEqual(
      ["connection_reset", "answer_invalid", "connection_refused", "dns_failed"].map((code) => ({
        kind: "failed",
        code,
      })),
    );
  });

  it("is let go of when the process stops", async () => {
    const stop = new AbortController();
    const silent = await receiver({ answer: () => stop.abort() });
    const answer = await sender([silent.port]).post(postTo(silent.url, { signal: stop.signal }));
    expect(answer).toEqual({ kind: "failed", code: "interrupted" });
    expect((await sender([silent.port]).post(postTo(silent.url, { signal: stop.signal }))).kind).toBe(
      "failed",
    );
    expect(silent.received).toHaveLength(1);
  });
});
