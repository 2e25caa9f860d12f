import { z } from "zod";
import { configSchema } from "../../../src/config/config-schema.js";
import { policyDocumentSchema } from "../../../src/domain/policy/policy-document.js";

interface Node {
  properties?: Record<string, Node>;
  additionalProperties?: Node | boolean;
  pattern?: string;
}

/** What the chart decides itself: paths, ports, names, and every secret, which is taken by reference. */
const OF_THE_CHART = [
  "deployment",
  "data_dir",
  "init_path",
  "server.host",
  "server.port",
  "server.public_metrics",
  "redis",
  "workspaces",
  "docker.host",
  "worker.pools",
  "worker.concurrency",
  "worker.shutdown_grace_ms",
  "worker.probe_port",
  "policy",
  "images",
  "auth.keys_file",
  "webhooks.secret",
  "evidence.signing_key_file",
  "telemetry.otlp_authorization",
];

/** A profile as a pool has it: its pool is clear, a loaded image may have no name, and an engine has one network at most. */
function profileOfPool(): Node {
  const policy = z.toJSONSchema(policyDocumentSchema, { io: "input", target: "draft-7" }) as Node;
  const profile = policy.properties?.["profiles"]?.additionalProperties;
  if (typeof profile !== "object") throw new Error("the policy has no profiles");
  const { pool: _, ...properties } = profile.properties ?? {};
  return {
    ...profile,
    properties: {
      ...properties,
      image: {
        ...properties["image"],
        pattern: "^([a-z0-9][a-z0-9._/:-]{0,254}@)?sha256:[0-9a-f]{64}$",
      },
      network: { ...properties["network"], ...{ enum: ["none", "bridge"] } },
    },
  };
}

/** The schema of the chart's values, with Bailiff's own configuration and profiles in it as Bailiff has them now. */
export function valuesSchema(text: string): string {
  const schema = JSON.parse(text) as { definitions: Record<string, unknown> };
  const { $schema: _, ...config } = z.toJSONSchema(configSchema, { io: "input", target: "draft-7" });
  for (const path of OF_THE_CHART) {
    const names = path.split(".");
    const last = names.pop() ?? "";
    const parent = names.reduce<Node | undefined>((node, name) => node?.properties?.[name], config as Node);
    if (parent?.properties?.[last] === undefined) throw new Error(`the configuration has no ${path}`);
    delete parent.properties[last];
  }
  schema.definitions["config"] = config;
  schema.definitions["profile"] = profileOfPool();
  return `${JSON.stringify(schema, null, 2)}\n`;
}
