import { z } from "zod";
import { configSchema } from "../../../src/config/config-schema.js";

interface Node {
  properties?: Record<string, Node>;
  required?: string[];
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
];

/** The schema of the chart's values, with Bailiff's own configuration in it as Bailiff's schema has it now. */
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
  return `${JSON.stringify(schema, null, 2)}\n`;
}
