import { z } from "zod";
import type { HelmTools } from "./helm-tools.js";
import type { KubernetesObject } from "./rendered-chart.js";

interface Attribute {
  readonly baseName: string;
  readonly type: string;
}

type Shapes = Readonly<Record<string, { getAttributeTypeMap?(): readonly Attribute[] } | undefined>>;
type Models = Readonly<Record<string, (new (object: unknown) => { validate(): void }) | undefined>>;

const metadata = z.strictObject({
  name: z.string(),
  namespace: z.string().optional(),
  labels: z.record(z.string(), z.string()),
  annotations: z.record(z.string(), z.string()).optional(),
});
const labels = z.record(z.string(), z.string());
const selector = z.strictObject({ matchLabels: labels });

/** The parts of others' resources that the chart uses, so that a misspelt field is found; the models know the rest. */
const CUSTOM: Readonly<Record<string, z.ZodType>> = {
  "keda.sh/v1alpha1/ScaledObject": z.strictObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata,
    spec: z.strictObject({
      scaleTargetRef: z.strictObject({ apiVersion: z.string(), kind: z.string(), name: z.string() }),
      pollingInterval: z.int(),
      minReplicaCount: z.int().min(1),
      maxReplicaCount: z.int(),
      advanced: z.strictObject({
        scalingModifiers: z.strictObject({
          formula: z.string(),
          target: z.string().regex(/^[0-9]+$/),
          metricType: z.enum(["AverageValue", "Value"]),
        }),
        horizontalPodAutoscalerConfig: z.strictObject({
          behavior: z.strictObject({
            scaleDown: z.strictObject({
              stabilizationWindowSeconds: z.int(),
              policies: z.array(
                z.strictObject({ type: z.enum(["Pods", "Percent"]), value: z.int(), periodSeconds: z.int() }),
              ),
            }),
          }),
        }),
      }),
      triggers: z.array(
        z.strictObject({
          type: z.literal("redis"),
          name: z.string(),
          metadata: z.strictObject({
            address: z.string().regex(/^[^\s:]+:[0-9]+$/),
            enableTLS: z.enum(["true", "false"]).optional(),
            databaseIndex: z.string().regex(/^[0-9]+$/),
            listName: z.string(),
            listLength: z.string().regex(/^[0-9]+$/),
          }),
          authenticationRef: z.strictObject({ name: z.string() }),
        }),
      ),
    }),
  }),
  "keda.sh/v1alpha1/TriggerAuthentication": z.strictObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata,
    spec: z.strictObject({
      secretTargetRef: z.array(z.strictObject({ parameter: z.string(), name: z.string(), key: z.string() })),
    }),
  }),
  "monitoring.coreos.com/v1/ServiceMonitor": z.strictObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata,
    spec: z.strictObject({
      selector,
      targetLabels: z.array(z.string()).optional(),
      endpoints: z.array(
        z.strictObject({
          port: z.string(),
          path: z.string(),
          interval: z.string(),
          authorization: z
            .strictObject({
              type: z.literal("Bearer"),
              credentials: z.strictObject({ name: z.string(), key: z.string() }),
            })
            .optional(),
        }),
      ),
    }),
  }),
  "monitoring.coreos.com/v1/PrometheusRule": z.strictObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata,
    spec: z.strictObject({
      groups: z.array(
        z.strictObject({
          name: z.string(),
          rules: z.array(
            z.strictObject({
              alert: z.string(),
              expr: z.string(),
              for: z.string().optional(),
              labels,
              annotations: labels,
            }),
          ),
        }),
      ),
    }),
  }),
};

/** Which package of the tools models a resource. */
function modelPackage(apiVersion: string): string {
  if (apiVersion.startsWith("keda.sh/")) return `@kubernetes-models/keda/${apiVersion}`;
  if (apiVersion.startsWith("monitoring.coreos.com/"))
    return `@kubernetes-models/prometheus-operator/${apiVersion}`;
  return `kubernetes-models/${apiVersion}`;
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/**
 * Checks objects against the Kubernetes API: one source says which types and which fields must be, the other which fields
 * there are at all. Gives one line per problem.
 */
export function createShapeCheck(tools: HelmTools): (object: KubernetesObject) => string[] {
  const shapes = tools.require("@kubernetes/client-node") as Shapes;

  const unknownFields = (value: unknown, type: string, path: string): string[] => {
    const items = /^Array<(.+)>$/.exec(type)?.[1];
    if (items !== undefined) {
      if (!Array.isArray(value)) return [`${path} is no list`];
      return value.flatMap((item, i) => unknownFields(item, items, `${path}[${i}]`));
    }
    if (value === null || typeof value !== "object") return [];
    const entries = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1];
    if (entries !== undefined)
      return Object.entries(value).flatMap(([key, item]) => unknownFields(item, entries, `${path}.${key}`));
    const attributes = shapes[type]?.getAttributeTypeMap?.();
    if (attributes === undefined)
      return type === "any" || type === "object" ? [] : [`${path} has no ${type}`];
    return Object.entries(value).flatMap(([key, item]) => {
      const attribute = attributes.find(({ baseName }) => baseName === key);
      if (attribute === undefined) return [`${path}.${key} is no field of ${type}`];
      return unknownFields(item, attribute.type, `${path}.${key}`);
    });
  };

  return (object) => {
    const { apiVersion, kind, metadata: names } = object;
    const title = `${kind} ${names.name}`;
    const problems: string[] = [];
    const custom = CUSTOM[`${apiVersion}/${kind}`];
    if (custom === undefined) {
      const version = apiVersion.slice(apiVersion.lastIndexOf("/") + 1);
      const type = `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`;
      problems.push(...unknownFields(object, type, title));
    } else {
      const parsed = custom.safeParse(object);
      if (!parsed.success)
        problems.push(
          ...parsed.error.issues.map(({ path, message }) => `${title}.${path.join(".")}: ${message}`),
        );
    }
    const model = (tools.require(modelPackage(apiVersion)) as Models)[kind];
    if (model === undefined) return [...problems, `${title}: nothing is known of ${apiVersion} ${kind}`];
    try {
      new model(object).validate();
    } catch (error) {
      problems.push(`${title}: ${messageOf(error)}`);
    }
    return problems;
  };
}
