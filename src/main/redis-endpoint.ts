import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { RedisEndpoint } from "../adapters/redis/connection.js";
import type { Config } from "../config/config.js";

/** Where Redis is and how it proves itself, with the files that the configuration names read. Throws where one is unfit. */
export function readRedisEndpoint(config: Config, url: string): RedisEndpoint {
  const { clusterNodes, waitReplicas, tls } = config.redis;
  const isCertificate = (text: string) => new X509Certificate(text);
  return {
    url,
    clusterNodes,
    waitReplicas,
    tls: {
      ca: readPem("redis.tls.ca_file", tls.caFile, isCertificate),
      cert: readPem("redis.tls.cert_file", tls.certFile, isCertificate),
      key: readPem("redis.tls.key_file", tls.keyFile, createPrivateKey),
    },
  };
}

/** What is no certificate would be passed over without a word by whoever uses it. The text itself is in no message. */
function readPem(field: string, path: string | null, parse: (text: string) => unknown): string | null {
  if (path === null) return null;
  try {
    const text = readFileSync(path, "utf8");
    parse(text);
    return text;
  } catch (error) {
    const { code = "unfit" } = error as { code?: string };
    throw new Error(`${field}: ${path} can't be used (${code}); it must be in PEM`);
  }
}
