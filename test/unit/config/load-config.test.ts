import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Config, tenantConfig } from "../../../src/config/config.js";
import { ConfigError } from "../../../src/config/config-error.js";
import { configFields } from "../../../src/config/config-fields.js";
import { type ConfigSources, loadConfig } from "../../../src/config/load-config.js";
import { redactConfig } from "../../../src/config/redact-config.js";
import { DEFAULT_SERVICE_LIMITS } from "../../../src/domain/limits.js";

const NEEDS_PLAIN_URL = "needs redis.url, without a database: a Cluster has only database 0";
const DIGEST = `sha256:${"a".repeat(64)}`;

function load(fileText: string | null, more: Partial<ConfigSources> = {}): Config {
  return loadConfig({
    env: {},
    fileText,
    fileName: "bailiff.yaml",
    readSecret: () => {
      throw new Error("no such file");
    },
    ...more,
  });
}

function problems(fileText: string | null, more: Partial<ConfigSources> = {}): string[] {
  try {
    load(fileText, more);
  } catch (error) {
    if (error instanceof ConfigError)
      return error.problems.map(({ field, message }) => `${field}: ${message}`);
    throw error;
  }
  return [];
}

describe("defaults", () => {
  it("are a complete configuration on loopback, without a shared Redis and with the limits of the domain", () => {
    const config = load(null);
    expect(config.server).toMatchObject({ host: "127.0.0.1", port: 8080, publicMetrics: false });
    expect(config.webhooks).toMatchObject({ secret: null, allowHttp: false, allowAddresses: [] });
    const tls = { caFile: null, certFile: null, keyFile: null };
    expect(config.redis).toEqual({ url: null, clusterNodes: [], waitReplicas: 0, tls });
    expect(config.workspaces).toEqual({
      root: "/var/lib/bailiff/workspaces",
      runnerUid: 10001,
      runnerGid: 10001,
      quota: "auto",
    });
    expect(config.limits).toEqual(DEFAULT_SERVICE_LIMITS);
    expect(config.auth).toEqual({ keysFile: "/var/lib/bailiff/keys.yaml", jwt: null });
    expect(config.worker.concurrency).toBe(4);
  });

  it("are the same for no file and for an empty one", () => {
    expect(load("")).toEqual(load(null));
    expect(load("# nothing\n")).toEqual(load(null));
  });

  it("are all inside their own bounds and have a reason", () => {
    for (const field of configFields()) expect(field.reason, field.variable).not.toBe("");
  });
});

describe("the file", () => {
  it("that ships as the example loads, and names every section", () => {
    const text = readFileSync("bailiff.example.yaml", "utf8");
    expect(load(text).images).toEqual({ default: expect.stringMatching(/^sha256:/) });
    for (const section of new Set(configFields().map(({ path }) => path[0])))
      expect(text).toContain(`${section}:`);
  });

  it("may be JSON", () => {
    expect(load('{"server":{"port":9}}').server.port).toBe(9);
  });

  it("is refused with every problem at once, each with its field and its limit", () => {
    const text = [
      "server: { port: 70000, hots: x }",
      "redis: { url: 'http://x' }",
      "worker: { concurrency: '4' }",
      "images: { sandbox: 'node:20', Bad: 3 }",
      "limits: { grace_ms: 1.5 }",
      "nonsense: 1",
      "auth: { jwt: { issuer: i, algorithms: [HS256] } }",
    ].join("\n");
    expect(problems(text)).toEqual([
      "server.port: must be at most 65535",
      "server.hots: is not a known field",
      "redis.url: must be a redis:// or rediss:// URL, without options",
      "worker.concurrency: must be of type number",
      "images.sandbox: must be pinned by digest: sha256:<64 hex> or name@sha256:<64 hex>",
      "images.Bad: must be 1 to 63 of a-z, 0-9, _ and -, starting with a letter or digit",
      "limits.grace_ms: must be a whole number",
      "auth.jwt.audience: is required",
      "auth.jwt.algorithms.0: must be one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA",
      "nonsense: is not a known field",
    ]);
  });

  it("bounds the wait for an offer's answer, from none at all to a second", () => {
    const waiting = (offerMs: number) => `worker: { warm: { offer_ms: ${offerMs} } }`;
    expect([0, 1_000].map((ms) => load(waiting(ms)).worker.warm.offerMs)).toEqual([0, 1_000]);
    expect(problems(waiting(-1))).toEqual(["worker.warm.offer_ms: must be at least 0"]);
    expect(problems(waiting(1_001))).toEqual(["worker.warm.offer_ms: must be at most 1000"]);
  });

  it("is refused with line and column where it is not YAML, or says a key twice, or has an unknown tag", () => {
    expect(problems("server: [")).toEqual([expect.stringMatching(/^bailiff\.yaml:1:\d+: is not valid YAML/)]);
    expect(problems("data_dir: /a\ndata_dir: /b")).toEqual([expect.stringMatching(/^bailiff\.yaml:2:1: /)]);
    expect(problems("data_dir: !!js/function x")).toHaveLength(1);
    expect(problems("- a")).toEqual(["bailiff.yaml: must be a mapping at the top"]);
  });

  it("does not take an alias bomb", () => {
    const rows = ["a: &a [x,x,x,x,x,x,x,x,x,x]"];
    for (let i = 1; i < 9; i += 1) {
      const [from, to] = [String.fromCharCode(96 + i), String.fromCharCode(97 + i)];
      rows.push(`${to}: &${to} [${Array(10).fill(`*${from}`).join(",")}]`);
    }
    expect(problems(rows.join("\n"))).toEqual(["bailiff.yaml: has too many or unresolved aliases"]);
  });

  it("can't reach a prototype through a key", () => {
    expect(problems("__proto__: { polluted: true }")).toHaveLength(1);
    expect(problems("tenants: { __proto__: { weight: 2 } }")).toHaveLength(1);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  it.each(["a", "/a/../b", "/a//b", "/a/", "/a\0b"])("takes no path like %j", (path) => {
    expect(problems(JSON.stringify({ data_dir: path }))).toHaveLength(1);
  });

  it.each(["tcp://10.0.0.1:2375", "tcp://127.0.0.1:2375", "unix://run/x.sock", "http://127.0.0.1:2375", "x"])(
    "takes no engine at %j",
    (host) => {
      expect(problems(JSON.stringify({ docker: { host } }))).toHaveLength(1);
    },
  );

  it("takes the engine at a Unix socket", () => {
    expect(load("docker: { host: 'unix:///run/x.sock' }").docker.host).toBe("unix:///run/x.sock");
  });

  it.each([
    "PATH",
    "HOME",
    "LANG",
    "LD_PRELOAD",
    "GIT_DIR",
    "BASH_ENV",
    "path",
    "BAILIFF_X",
    "A-B",
    "1A",
    "",
  ])("gives commands no variable named %j", (name) => {
    expect(problems(JSON.stringify({ environment: { [name]: "x" } }))).toHaveLength(1);
  });
});

describe("every whole number", () => {
  const bounded = configFields().filter((field) => field.form === "whole");

  it.each(bounded.map((field) => [field.variable, field] as const))(
    "%s is refused one below its minimum and one above its maximum",
    (variable, field) => {
      const [low, high] = /, (\d+) to (\d+)$/.exec(field.accepts)?.slice(1).map(Number) ?? [];
      expect(low).toBeDefined();
      expect(high).toBeDefined();
      const says = (value: number) => problems(null, { env: { [variable]: String(value) } }).join("\n");
      expect(says((low ?? 0) - 1)).toContain(`must be at least ${low} (set by ${variable})`);
      expect(says((high ?? 0) + 1)).toContain(`must be at most ${high} (set by ${variable})`);
      expect(says(low ?? 0)).not.toContain(`set by ${variable}`);
      expect(says(high ?? 0)).not.toContain(`set by ${variable}`);
    },
  );
});

describe("the environment", () => {
  it("wins over the file and takes every form", () => {
    const config = load("server: { port: 1, host: '::1' }\nredis: { url: 'redis://file' }", {
      env: {
        BAILIFF_SERVER_PORT: "2",
        BAILIFF_SERVER_PUBLIC_METRICS: "true",
        BAILIFF_WORKER_POOLS: "default,gpu",
        BAILIFF_IMAGES: `sandbox=${DIGEST}`,
        BAILIFF_REDIS_URL: "",
        BAILIFF_AUTH_JWT_ISSUER: "i",
        BAILIFF_AUTH_JWT_AUDIENCE: "a",
        BAILIFF_AUTH_JWT_JWKS_URL: "https://x/jwks",
        PATH: "/bin",
      },
    });
    expect(config.server).toMatchObject({ host: "::1", port: 2, publicMetrics: true });
    expect(config.worker.pools).toEqual(["default", "gpu"]);
    expect(config.images).toEqual({ sandbox: DIGEST });
    expect(config.redis.url).toBeNull();
    expect(config.auth.jwt?.jwksUrl).toBe("https://x/jwks");
  });

  it.each([
    ["BAILIFF_SERVER_PROT", "80", "BAILIFF_SERVER_PROT: is not a known variable"],
    ["BAILIFF_SERVER_PORT_FILE", "/x", "BAILIFF_SERVER_PORT_FILE: is not a known variable"],
    ["BAILIFF_SERVER_PORT", "0x50", "BAILIFF_SERVER_PORT: must be a whole number in decimal digits"],
    ["BAILIFF_SERVER_PORT", "080", "BAILIFF_SERVER_PORT: must be a whole number in decimal digits"],
    ["BAILIFF_SERVER_PORT", "", "BAILIFF_SERVER_PORT: must not be empty"],
    ["BAILIFF_SERVER_PUBLIC_METRICS", "yes", "BAILIFF_SERVER_PUBLIC_METRICS: must be true or false"],
    ["BAILIFF_IMAGES", "=x", "BAILIFF_IMAGES: must be name=value pairs separated by commas"],
    ["BAILIFF_REDIS_URL_FILE", "/gone", "BAILIFF_REDIS_URL_FILE: names a file that can't be read"],
  ])("is refused for %s=%j", (variable, value, problem) => {
    expect(problems(null, { env: { [variable]: value } })).toEqual([problem]);
  });

  it("leaves the command line's own variables alone", () => {
    expect(problems(null, { env: { BAILIFF_API_KEY: "x", BAILIFF_URL: "y", BAILIFF_CONFIG: "z" } })).toEqual(
      [],
    );
  });

  it("reads a secret from the file its _FILE variable names, without the last line end", () => {
    const config = load(null, {
      env: { BAILIFF_REDIS_URL_FILE: "/run/secrets/redis" },
      readSecret: (path) => (path === "/run/secrets/redis" ? "redis://:pw@r\n" : ""),
    });
    expect(config.redis.url).toBe("redis://:pw@r");
  });

  it("takes REDIS_URL too, but not against another value", () => {
    expect(load(null, { env: { REDIS_URL: "redis://r" } }).redis.url).toBe("redis://r");
    expect(problems(null, { env: { REDIS_URL: "redis://r", BAILIFF_REDIS_URL: "redis://s" } })).toEqual([
      "REDIS_URL: contradicts BAILIFF_REDIS_URL; set only one",
    ]);
  });

  it("names each field by a variable of its own", () => {
    const variables = configFields()
      .filter((field) => field.form !== null)
      .flatMap((field) => (field.secret ? [field.variable, `${field.variable}_FILE`] : [field.variable]));
    expect(new Set(variables).size).toBe(variables.length);
  });
});

describe("fields against each other", () => {
  it.each([
    [
      "limits: { default_timeout_ms: 2, hard_timeout_ms: 1 }",
      "limits: limits.default_timeout_ms (2) must be at most limits.hard_timeout_ms (1)",
    ],
    ["limits: { stream_hard_bytes: 5 }", "limits: limits.streamCaptureBytes"],
    [
      "data_dir: /w/x\nworkspaces: { root: /w }\nauth: { keys_file: /k }",
      "data_dir: must not be inside workspaces.root, where commands can write",
    ],
    [
      "workspaces: { root: /w }\npolicy: { files: [/w/t/p.yaml] }",
      "policy.files.0: must not be inside workspaces.root, where commands can write",
    ],
    ["workspaces: { root: / }", "data_dir: must not be inside workspaces.root, where commands can write"],
    ["auth: { jwt: { issuer: i, audience: a } }", "auth.jwt: needs exactly one of jwks_url and jwks_file"],
    [
      "auth: { jwt: { issuer: i, audience: a, jwks_url: 'https://x', jwks_file: /x } }",
      "auth.jwt: needs exactly one of jwks_url and jwks_file",
    ],
    [
      "auth: { jwt: { issuer: i, audience: a, jwks_url: 'http://x' } }",
      "auth.jwt.jwks_url: must be an https URL (http on loopback only)",
    ],
    ["worker: { shutdown_grace_ms: 1 }", "worker.shutdown_grace_ms: must be at least limits.grace_ms"],
    ["worker: { lease_ms: 5000 }", "worker.lease_ms: must be at least three times worker.heartbeat_ms"],
    ["redis: { cluster_nodes: ['a:1'] }", `redis.cluster_nodes: ${NEEDS_PLAIN_URL}`],
    ["redis: { url: 'redis://a/2', cluster_nodes: ['b:1'] }", `redis.cluster_nodes: ${NEEDS_PLAIN_URL}`],
    ["redis: { url: 'redis://a', cluster_nodes: ['b:65536'] }", "redis.cluster_nodes.0: must be host:port"],
    ["redis: { url: 'rediss://a?tls=' }", "redis.url: must be a redis:// or rediss:// URL, without options"],
    ["redis: { url: 'redis://a/x' }", "redis.url: must be a redis:// or rediss:// URL, without options"],
    ["redis: { url: 'redis://:%@a' }", "redis.url: must be a redis:// or rediss:// URL, without options"],
    ["redis: { url: 'redis://a', tls: { ca_file: /a } }", "redis.tls: needs a rediss:// URL"],
    ["redis: { tls: { ca_file: /a } }", "redis.tls: needs a rediss:// URL"],
    [
      "redis: { url: 'rediss://a', tls: { cert_file: /a } }",
      "redis.tls: needs both or neither of cert_file and key_file",
    ],
    ["worker: { pools: [a, a] }", "worker.pools: must not name a pool twice"],
  ])("%j is refused", (text, problem) => {
    const wanted = problem.replace(
      "limits.streamCaptureBytes",
      "limits.stream_capture_bytes (1048576) must be at most limits.stream_hard_bytes (5)",
    );
    expect(problems(text)).toContain(wanted);
  });

  it("/workspaces-old is not inside /workspaces", () => {
    expect(problems("data_dir: /w-old\nworkspaces: { root: /w }")).toEqual([]);
  });
});

describe("tenants", () => {
  it("get the default quotas, with their own in place of them; null lifts a bound", () => {
    const config = load(
      "quotas: { queued: 5 }\ntenants: { big: { weight: 3, queued: null, concurrent: 2 } }",
    );
    expect(tenantConfig(config, "other")).toEqual({
      totalQueued: 20000,
      tenantQueued: 5,
      tenantConcurrent: null,
      sessionQueued: 1000,
      tenantRequestsPerMinute: null,
      tenantDispatchesPerDay: null,
      tenantWallMsPerDay: null,
      tenantCpuMsPerDay: null,
      tenantWeight: 1,
    });
    expect(tenantConfig(config, "big")).toMatchObject({
      tenantQueued: null,
      tenantConcurrent: 2,
      tenantWeight: 3,
    });
    expect(tenantConfig(config, "constructor")).toEqual(config.defaultTenant);
  });
});

describe("the result", () => {
  it("is frozen all the way down", () => {
    const visit = (value: unknown) => {
      if (typeof value !== "object" || value === null) return;
      expect(Object.isFrozen(value)).toBe(true);
      for (const child of Object.values(value)) visit(child);
    };
    visit(load("tenants: { a: {} }\nauth: { jwt: { issuer: i, audience: a, jwks_file: /j } }"));
  });

  it("shows no password and no value of the commands' environment once redacted", () => {
    const config = load("redis: { url: 'rediss://me:hunter2@r:1/0' }\nenvironment: { A: hunter3 }");
    const shown = JSON.stringify(redactConfig(config));
    expect(shown).not.toMatch(/hunter/);
    expect(shown).toContain("rediss://me:");
    expect(shown).toContain('"environment":["A"]');
  });

  it("for any text is a configuration or a ConfigError that quotes nothing of a secret", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const found = problems(text, { env: { BAILIFF_REDIS_URL: `hunter2${text}` } });
        for (const problem of found) expect(problem).not.toContain("hunter2");
      }),
    );
  });
});

describe("webhooks", () => {
  const SECRET = "s3cret-of-this-deployment-0123456789";

  it("take their secret from a file, and their ports and addresses from variables", () => {
    const { webhooks } = load(null, {
      env: {
        BAILIFF_WEBHOOKS_SECRET_FILE: "/run/secrets/webhooks",
        BAILIFF_WEBHOOKS_PORTS: "443,9443",
        BAILIFF_WEBHOOKS_ALLOW_ADDRESSES: "10.1.0.0/16,fd00::1",
      },
      readSecret: () => `${SECRET}\n`,
    });
    expect(webhooks).toMatchObject({
      secret: SECRET,
      ports: [443, 9443],
      allowAddresses: ["10.1.0.0/16", "fd00::1"],
    });
  });

  it("never show their secret, and refuse what could not be meant", () => {
    const config = load(`webhooks: { secret: ${SECRET} }`);
    expect(JSON.stringify(redactConfig(config))).not.toContain(SECRET);
    expect(problems("webhooks: { secret: short, ports: [0], allow_addresses: [localhost] }")).toEqual([
      "webhooks.secret: must be at least 32 characters long",
      "webhooks.ports.0: must be at least 1",
      "webhooks.allow_addresses.0: must be an IP address or a CIDR block",
    ]);
    expect(problems(null, { env: { BAILIFF_WEBHOOKS_PORTS: "443,https" } })).toEqual([
      "BAILIFF_WEBHOOKS_PORTS: must be whole numbers in decimal digits, separated by commas",
    ]);
  });
});
