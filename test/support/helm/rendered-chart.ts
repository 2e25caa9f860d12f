import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import type { HelmName, HelmTools } from "./helm-tools.js";

/** The chart's folder. */
export const CHART = fileURLToPath(new URL("../../../helm/bailiff", import.meta.url));
/** The namespace that the chart is rendered for. */
const NAMESPACE = "agents";

/** The last Kubernetes without native sidecars. */
export const OLD_KUBERNETES = "1.28.0";
/** One with them. */
export const NEW_KUBERNETES = "1.33.0";

/** A port that a probe or rule names. */
type PortName = string | number;

interface Probe {
  readonly httpGet?: { readonly port: PortName };
  readonly exec?: { readonly command: readonly string[] };
}

/** A container, as far as the tests look at it. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly restartPolicy?: string;
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } };
  }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly subPath?: string;
    readonly readOnly?: boolean;
  }[];
  readonly lifecycle?: { readonly preStop?: { readonly exec: { readonly command: readonly string[] } } };
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

/** A volume of a pod. */
export interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly secret?: { readonly secretName: string; readonly defaultMode?: number };
  readonly projected?: { readonly sources: readonly { readonly configMap?: { readonly name: string } }[] };
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly emptyDir?: object;
  readonly hostPath?: object;
}

/** A pod's specification. */
export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly hostUsers?: boolean;
  readonly runtimeClassName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly object[];
  readonly terminationGracePeriodSeconds?: number;
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: LabelSelector }[];
}

/** Labels that select pods or Services. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
}

/** Any object of the API. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
}

/** A pod as its workload would make it. */
export interface Pod {
  readonly owner: KubernetesObject;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
}

/** One rendering of the chart. */
export interface Rendered {
  readonly title: string;
  readonly values: string;
  readonly helm: HelmName;
  readonly kubernetes: string;
  readonly objects: readonly KubernetesObject[];
  readonly pods: readonly Pod[];
}

/** Every container of a pod. */
export function containersOf(spec: PodSpec): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

/** Whether labels are among those that a selector asks for; an empty one takes all. */
export function isSelected(
  { matchLabels = {} }: LabelSelector,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(matchLabels).every(([name, value]) => labels[name] === value);
}

/** Reads what helm printed. Throws for anything that is not valid YAML. */
export function parseObjects(text: string): KubernetesObject[] {
  const documents = parseAllDocuments(text, { version: "1.1", uniqueKeys: true });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    const object = document.toJS() as KubernetesObject | null;
    return object === null ? [] : [object];
  });
}

function podsOf(objects: readonly KubernetesObject[]): Pod[] {
  return objects.flatMap((owner): Pod[] => {
    if (owner.kind === "Pod")
      return [
        {
          owner,
          labels: owner.metadata.labels ?? {},
          annotations: owner.metadata.annotations ?? {},
          spec: owner.spec as unknown as PodSpec,
        },
      ];
    const template = owner.spec?.["template"] as
      | { metadata: { labels: Record<string, string>; annotations?: Record<string, string> }; spec: PodSpec }
      | undefined;
    if (template === undefined) return [];
    const { labels, annotations = {} } = template.metadata;
    return [{ owner, labels, annotations, spec: template.spec }];
  });
}

/** Renders the chart; fails with helm's own words. */
export async function renderChart(
  tools: HelmTools,
  helm: HelmName,
  values: string,
  kubernetes: string,
  more: readonly string[] = [],
): Promise<Rendered> {
  const args = ["template", "release", CHART, "--namespace", NAMESPACE, "--kube-version", kubernetes];
  const { code, stdout, stderr } = await tools.helm(helm, [
    ...args,
    "--values",
    join(CHART, "ci", values),
    ...more,
  ]);
  if (code !== 0) throw new Error(stderr);
  const objects = parseObjects(stdout);
  const title = `${values.replace("-values.yaml", "")} on Kubernetes ${kubernetes} by ${helm}`;
  return { title, values, helm, kubernetes, objects, pods: podsOf(objects) };
}

/** The examples of values that come with the chart. */
export async function exampleValues(): Promise<readonly string[]> {
  return (await readdir(join(CHART, "ci"))).sort();
}

/** Every example of values: by both generations of helm on a newer Kubernetes, and on an old one. */
export async function renderMatrix(tools: HelmTools): Promise<readonly Rendered[]> {
  const rows: Rendered[] = [];
  for (const values of await exampleValues()) {
    rows.push(await renderChart(tools, "helm3", values, NEW_KUBERNETES));
    rows.push(await renderChart(tools, "helm4", values, NEW_KUBERNETES));
    rows.push(await renderChart(tools, "helm3", values, OLD_KUBERNETES));
  }
  return rows;
}
