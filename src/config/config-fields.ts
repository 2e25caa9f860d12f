import { z } from "zod";
import { configSchema } from "./config-schema.js";

/** How a field is written in one environment variable; null where only a file can set it. */
export type VariableForm = "text" | "whole" | "number" | "boolean" | "list" | "wholes" | "map" | null;

/** One field of the configuration as the schema declares it. */
export interface ConfigField {
  readonly path: readonly string[];
  /** The environment variable that overrides it. */
  readonly variable: string;
  readonly form: VariableForm;
  readonly nullable: boolean;
  /** True where the value must not be logged and a `_FILE` variable may name the file that holds it. */
  readonly secret: boolean;
  readonly unit: string | null;
  readonly reason: string;
  readonly fallback: unknown;
  /** Type and bounds in words. */
  readonly accepts: string;
}

interface Node {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
  readonly items?: Node;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
  readonly description?: string;
  readonly unit?: string;
  readonly secret?: boolean;
}

const typesOf = (node: Node): readonly string[] =>
  node.type === undefined ? [] : typeof node.type === "string" ? [node.type] : node.type;

/** The node without its null alternative; annotations of the outer node win. */
function unwrap(node: Node): { inner: Node; nullable: boolean } {
  const { anyOf, ...outer } = node;
  const some = anyOf?.find((option) => !typesOf(option).includes("null"));
  const inner = some ? { ...some, ...outer } : node;
  const nullable =
    typesOf(node).includes("null") || (anyOf?.some((option) => typesOf(option).includes("null")) ?? false);
  return { inner, nullable };
}

const range = (low: number | undefined, high: number | undefined, what: string) =>
  low === undefined && high === undefined ? what : `${what}, ${low ?? 0} to ${high ?? "any"}`;

function formOf(node: Node): VariableForm {
  const types = typesOf(node);
  if (types.includes("integer")) return "whole";
  if (types.includes("number")) return "number";
  if (types.includes("boolean")) return "boolean";
  if (types.includes("string")) return "text";
  if (types.includes("array"))
    return node.items && typesOf(node.items).includes("integer") ? "wholes" : "list";
  const values = node.additionalProperties;
  return typeof values === "object" && typesOf(values).includes("string") ? "map" : null;
}

function acceptsOf(node: Node): string {
  if (node.enum) return node.enum.map((option) => `\`${String(option)}\``).join(", ");
  switch (formOf(node)) {
    case "whole":
      return range(node.minimum, node.maximum, "whole number");
    case "boolean":
      return "`true`, `false`";
    case "wholes":
      return `${range(node.minItems, node.maxItems, "list")}, of whole numbers`;
    case "list":
      return node.items?.enum
        ? `list of ${acceptsOf(node.items)}`
        : range(node.minItems, node.maxItems, "list");
    case "map":
      return "map";
    case "number":
      return range(node.minimum, node.maximum, "number");
    default:
      return "text";
  }
}

function collect(node: Node, path: readonly string[], found: ConfigField[]): void {
  const { inner, nullable } = unwrap(node);
  if (inner.properties) {
    for (const [key, child] of Object.entries(inner.properties)) collect(child, [...path, key], found);
    return;
  }
  const entries = inner.additionalProperties;
  if (typeof entries === "object" && entries.properties) {
    collect(entries, [...path, "<name>"], found);
    return;
  }
  const inFileOnly = path.includes("<name>");
  found.push({
    path,
    variable: `BAILIFF_${path.join("_").toUpperCase()}`,
    form: inFileOnly ? null : formOf(inner),
    nullable,
    secret: inner.secret === true,
    unit: inner.unit ?? null,
    reason: inner.description ?? "",
    fallback: inner.default,
    accepts: acceptsOf(inner),
  });
}

/** Every field, in the order of the schema. `<name>` in a path stands for a key the operator chooses. */
export function configFields(): readonly ConfigField[] {
  const found: ConfigField[] = [];
  collect(z.toJSONSchema(configSchema, { io: "input" }) as Node, [], found);
  return found;
}
