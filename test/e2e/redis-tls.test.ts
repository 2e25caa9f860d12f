import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RedisTls } from "../../src/adapters/redis/redis-address.js";
import { createInstallation, type Installation, openAgent } from "../support/bailiff.js";
import { RECEIVER_CERTIFICATE } from "../support/receiver-certificate.js";
import { REDIS_AUTHORITY, REDIS_CERTIFICATE, REDIS_KEY } from "../support/redis-certificates.js";
import { openStoreFixture } from "../support/redis-fixtures.js";
import { findFreePort, type RedisServer, startRedisServer } from "../support/redis-server.js";
import { until } from "../support/until.js";

const CONNECTIONS = ["bailiff-commands", "bailiff-fetcher", "bailiff-subscriber"];
const ALL: RedisTls = { ca: REDIS_AUTHORITY, cert: REDIS_CERTIFICATE, key: REDIS_KEY };

let installation: Installation;
let redis: RedisServer;
let securePort: number;
let tls: Readonly<Record<"ca_file" | "cert_file" | "key_file", string>>;
/** Over the plain port, which none of Bailiff's processes is told of. */
let observer: Redis;

beforeAll(async () => {
  installation = await createInstallation();
  tls = {
    ca_file: join(installation.directory, "redis-authority.crt"),
    cert_file: join(installation.directory, "redis.crt"),
    key_file: join(installation.directory, "redis.key"),
  };
  await writeFile(tls.ca_file, REDIS_AUTHORITY);
  await writeFile(tls.cert_file, REDIS_CERTIFICATE);
  await writeFile(tls.key_file, REDIS_KEY);
  securePort = await findFreePort();
  redis = await startRedisServer({
    "tls-port": String(securePort),
    "tls-cert-file": tls.cert_file,
    "tls-key-file": tls.key_file,
    "tls-ca-cert-file": tls.ca_file,
    "tls-auth-clients": "yes",
    // A cluster of one: whoever asks who holds the slot is told its name, and the port that it asked on.
    "cluster-enabled": "yes",
    "tls-cluster": "yes",
    "cluster-port": String(await findFreePort()),
    "cluster-announce-hostname": "localhost",
    "cluster-preferred-endpoint-type": "hostname",
  });
  observer = new Redis(redis.url);
  await observer.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  await until(async () => String(await observer.call("CLUSTER", "INFO")).includes("cluster_state:ok"));
});
afterAll(async () => {
  observer?.disconnect();
  await installation?.remove();
  await redis?.stop();
});

const secureUrl = (host: string) => `rediss://${host}:${securePort}`;

/** Every connection of Bailiff's: its name, and the port that it came in by. */
async function connections(): Promise<readonly (readonly [string, number])[]> {
  const list = String(await observer.client("LIST"));
  return [...list.matchAll(/ laddr=[^ ]*:(\d+) .* ?name=(bailiff-[a-z]+) /g)].map(
    ([, port, name = ""]) => [name, Number(port)] as const,
  );
}

test.each([
  ["plain client", {}],
  ["client that follows the slot of a cluster", { cluster_nodes: ["localhost:1"] }],
])(
  "commands run with every connection to Redis encrypted and both sides' certificates asked for, by a %s",
  async (_, more) => {
    const settings = { redis: { url: secureUrl("localhost"), tls, ...more } };
    const api = await installation.start("api", settings);
    const worker = await installation.start("worker", settings);
    const agent = await openAgent(installation, api);
    const answer = await agent.submit(["echo", "encrypted"]);
    expect(answer.body).toMatchObject({ outcome: "completed", stdout: "encrypted\n" });
    const seen = await connections();
    expect([...new Set(seen.map(([name]) => name))].sort()).toEqual(CONNECTIONS);
    expect(seen.filter(([, port]) => port !== securePort)).toEqual([]);
    expect(await worker.stop()).toBe(0);
    expect(await api.stop()).toBe(0);
  },
);

test("a Redis whose certificate is not trusted, or names another host, is not spoken to, nor one that this process can't prove itself to", async () => {
  const refusal = async (url: string, given: RedisTls) => {
    const opened = openStoreFixture(redis, { endpoint: { url, tls: given } });
    return opened.then(
      async (fixture) => {
        await fixture.close();
        return "opened";
      },
      (error: Error) => error.message,
    );
  };
  const refused = (code: string) =>
    expect.stringMatching(new RegExp(`not reachable or not ready \\(${code}`));
  expect(
    await Promise.all([
      refusal(secureUrl("localhost"), ALL),
      // As the protocol of a URL may be written.
      refusal(secureUrl("localhost").replace("rediss", "REDISS"), ALL),
      refusal(secureUrl("localhost"), { ...ALL, ca: null }),
      refusal(secureUrl("localhost"), { ...ALL, ca: RECEIVER_CERTIFICATE }),
      refusal(secureUrl("127.0.0.1"), ALL),
      refusal(secureUrl("localhost"), { ...ALL, cert: null, key: null }),
      refusal(secureUrl("localhost").replace("rediss", "redis"), ALL),
    ]),
  ).toEqual([
    "opened",
    "opened",
    refused("UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED"),
    refused("UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED"),
    refused("ERR_TLS_CERT_ALTNAME_INVALID"),
    refused("ERR_SSL|ECONNRESET"),
    refused(""),
  ]);
});

test("a process that can't read its certificates, or would not use them, does not start", async () => {
  const start = (given: Record<string, unknown>) =>
    installation.start("api", { redis: given }).then(
      () => "started",
      (error: Error) => error.message,
    );
  const key = join(installation.directory, "redis.key");
  const [notPem, absent, unused] = await Promise.all([
    start({ url: secureUrl("localhost"), tls: { ca_file: key } }),
    start({ url: secureUrl("localhost"), tls: { ca_file: "/nowhere" } }),
    start({ url: redis.url, tls }),
  ]);
  expect(notPem).toContain(`redis.tls.ca_file: ${key} can't be used`);
  expect(notPem).not.toContain("PRIVATE KEY");
  expect(absent).toContain("redis.tls.ca_file: /nowhere can't be used (ENOENT)");
  expect(unused).toContain("redis.tls: needs a rediss:// URL");
});
