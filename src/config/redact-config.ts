import type { Config } from "./config.js";

function redactUrl(url: string): string {
  const parsed = new URL(url);
  if (parsed.password !== "") parsed.password = "redacted";
  return parsed.href;
}

/** The configuration as the start-up log may show it: no password, and of the commands' environment only the names. */
export function redactConfig(config: Config): Record<string, unknown> {
  return {
    ...config,
    redis: { ...config.redis, url: config.redis.url === null ? null : redactUrl(config.redis.url) },
    webhooks: { ...config.webhooks, secret: config.webhooks.secret === null ? null : "redacted" },
    telemetry: {
      ...config.telemetry,
      otlpAuthorization: config.telemetry.otlpAuthorization === null ? null : "redacted",
    },
    environment: Object.keys(config.environment),
  };
}
