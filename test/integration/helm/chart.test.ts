import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { QueueKeys } from "bullmq";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import {
  formatPolicyProblem,
  type LoadPolicyResult,
  loadPolicy,
} from "../../../src/adapters/policy-file/load-policy.js";
import { createKeys } from "../../../src/adapters/redis/keys.js";
import { METRIC_TABLE } from "../../../src/adapters/telemetry/metric-table.js";
import { listProfiles } from "../../../src/app/decide/profile-catalog.js";
import type { Config } from "../../../src/config/config.js";
import { loadConfig } from "../../../src/config/load-config.js";
import type { CompiledPolicy } from "../../../src/domain/policy/compiled-policy.js";
import { createCommands } from "../../../src/main/cli-commands.js";
import { type HelmName, type HelmTools, installHelmTools } from "../../support/helm/helm-tools.js";
import { createShapeCheck } from "../../support/helm/kubernetes-shapes.js";
import {
  CHART,
  type Container,
  containersOf,
  exampleValues,
  isSelected,
  type KubernetesObject,
  type LabelSelector,
  NEW_KUBERNETES,
  OLD_KUBERNETES,
  type Pod,
  parseObjects,
  type Rendered,
  renderChart,
  renderMatrix,
} from "../../support/helm/rendered-chart.js";
import { FILES_OF_IMAGE, PATH_OF_IMAGE } from "../../support/image-contents.js";

const ALERTS_PAGE = fileURLToPath(new URL("../../../docs/alerts.md", import.meta.url));

/** What an operator makes beforehand, and names in the examples' values. */
const GIVEN = {
  Secret: [
    "bailiff-keys",
    "bailiff-evidence",
    "bailiff-redis",
    "bailiff-webhooks",
    "bailiff-collector",
    "bailiff-metrics",
    "bailiff-test",
    "managed-redis",
    "redis-certificates",
    "registry",
  ],
  ConfigMap: ["our-policy", "authority"],
  PersistentVolumeClaim: ["shared-workspaces", "images"],
} as const;

let tools: HelmTools;
let rows: readonly Rendered[];
/** Most rows share a policy, and loading one takes a while. */
const policies = new Map<string, LoadPolicyResult>();

beforeAll(async () => {
  tools = await installHelmTools();
  rows = await renderMatrix(tools);
});

/** Every line that the check gives for any row, under the row's title. */
function inEveryRow(check: (row: Rendered) => readonly (string | null)[]): string[] {
  return rows.flatMap((row) =>
    check(row).flatMap((problem) => (problem === null ? [] : [`${row.title}: ${problem}`])),
  );
}

function inEveryPod(check: (pod: Pod, row: Rendered) => readonly (string | null)[]): string[] {
  return inEveryRow((row) =>
    row.pods.flatMap((pod) =>
      check(pod, row).map((problem) => (problem === null ? null : `${pod.owner.metadata.name}: ${problem}`)),
    ),
  );
}

function inEveryContainer(check: (container: Container, pod: Pod) => boolean): string[] {
  return inEveryPod((pod) =>
    containersOf(pod.spec).map((container) => (check(container, pod) ? null : container.name)),
  );
}

const ofKind = (row: Rendered, kind: string) => row.objects.filter((object) => object.kind === kind);
const named = (row: Rendered, kind: string, name: string) =>
  ofKind(row, kind).find(({ metadata }) => metadata.name === name);
const isWorker = (pod: Pod) => pod.labels["app.kubernetes.io/component"] === "worker";
const workersOf = (row: Rendered) => row.pods.filter(isWorker);
const containerOf = (pod: Pod, name: string) => {
  const found = containersOf(pod.spec).find((container) => container.name === name);
  if (found === undefined) throw new Error(`${pod.owner.metadata.name} has no container ${name}`);
  return found;
};
const specOf = <T>(object: KubernetesObject) => object.spec as unknown as T;
const selectorOf = (object: KubernetesObject) => specOf<{ selector: LabelSelector }>(object).selector;
const variable = ({ env = [] }: Container, name: string) => env.find((each) => each.name === name)?.value;
const mebibytes = (quantity = "") => {
  const [, count, unit] = /^([0-9]+)(Mi|Gi)$/.exec(quantity) ?? [];
  return Number(count) * (unit === "Gi" ? 1024 : 1);
};
const quantityOf = (container: Container, kind: "requests" | "limits", resource: string) =>
  container.resources?.[kind]?.[resource];

/** The configuration that a container of Bailiff would start with. */
function configOf(row: Rendered, container: Container): Config {
  const text = named(row, "ConfigMap", "release-bailiff-config")?.data?.["bailiff.yaml"] ?? "";
  const env = Object.fromEntries(
    (container.env ?? []).map(({ name, value }) => [
      name,
      value?.replace("$(REDIS_PASSWORD)", "a-password") ?? "a-password",
    ]),
  );
  return loadConfig({
    env,
    fileText: text,
    fileName: "bailiff.yaml",
    readSecret: (path) =>
      path.includes("webhooks")
        ? "w".repeat(40)
        : path.includes("collector")
          ? "Bearer of-the-collector"
          : path.includes("redis")
            ? "rediss://:p@redis.example.com:6380/2"
            : "",
  });
}

/** The policy that a process would start with; a ConfigMap of the operator's is the default policy and a stricter one. */
async function policyOf(row: Rendered, config: Config): Promise<CompiledPolicy> {
  const data = named(row, "ConfigMap", "release-bailiff-policy")?.data ?? {};
  const base = await readFile(join(CHART, "files", "default-policy.yaml"), "utf8");
  const given: Readonly<Record<string, string>> = {
    "base.yaml": base,
    "team.yaml": "version: 1\ndefault: deny\n",
  };
  const texts = config.policy.files.map((path) => {
    const name = path.replace("/etc/bailiff/policy/", "");
    return { name, text: data[name] ?? given[name] ?? "" };
  });
  const key = JSON.stringify(texts);
  const loaded = policies.get(key) ?? loadPolicy(texts);
  policies.set(key, loaded);
  if (!loaded.ok) throw new Error(loaded.problems.map(formatPolicyProblem).join("\n"));
  return loaded.policy;
}

describe("the chart as a whole", () => {
  it("passes both generations' strict lint with every example of values", async () => {
    const failures: string[] = [];
    for (const helm of ["helm3", "helm4"] as const) {
      for (const values of await exampleValues()) {
        const args = ["lint", "--strict", CHART, "--values", join(CHART, "ci", values)];
        const { code, stdout, stderr } = await tools.helm(helm, args);
        if (code !== 0) failures.push(`${helm} ${values}: ${stdout}${stderr}`);
      }
    }
    expect(failures).toEqual([]);
  });

  it("is rendered the same by both generations", () => {
    const by = (name: HelmName) =>
      rows
        .filter(({ helm, kubernetes }) => helm === name && kubernetes === NEW_KUBERNETES)
        .map(({ objects }) => objects);
    expect(by("helm4")).toEqual(by("helm3"));
    expect(by("helm4").length).toBeGreaterThanOrEqual(5);
  });

  it("gives objects that the Kubernetes API knows, without a field it does not", () => {
    const problemsOf = createShapeCheck(tools);
    expect(inEveryRow((row) => row.objects.flatMap(problemsOf))).toEqual([]);
  });

  it("gives every object a name of its own that leaves room for its pods' names", () => {
    const problems = inEveryRow(({ objects }) => {
      const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      const twice = names.filter((name, at) => names.indexOf(name) !== at);
      return [...twice, ...objects.map(({ metadata: { name } }) => (name.length > 52 ? name : null))];
    });
    expect(problems).toEqual([]);
  });

  it("keeps names short for the longest release and pool", async () => {
    const pool = "a".repeat(20);
    const sets = [`fullnameOverride=${"r".repeat(60)}`, `pools[0].name=${pool}`];
    const more = sets.flatMap((set) => ["--set", set]);
    const { objects } = await renderChart(tools, "helm4", "minimal-values.yaml", NEW_KUBERNETES, more);
    const names = objects.map(({ metadata }) => metadata.name);
    expect(names).toContain(`${"r".repeat(24)}-worker-${pool}`);
    // A StatefulSet's pods carry its name and a hash of ten characters in a label of at most 63.
    expect(names.filter((name) => name.length > 52)).toEqual([]);
  });

  it("prints notes that name the Secrets to make and how a worker ends", async () => {
    const values = join(CHART, "ci", "minimal-values.yaml");
    // The older generation asks a cluster even for a dry run; its strict lint reads the notes as well.
    const args = ["install", "release", CHART, "--dry-run=client", "--values", values];
    const { stdout, stderr } = await tools.helm("helm4", args);
    expect(stdout, stderr).toContain("bailiff-keys, key keys.yaml");
    expect(stdout).toContain("ends within 335 s");
  });
});

describe("confinement", () => {
  it("makes nothing privileged but engines, and under sysbox not even those", () => {
    const privileged = rows.map((row) =>
      row.pods.flatMap((pod) =>
        containersOf(pod.spec)
          .filter(({ securityContext }) => securityContext?.["privileged"] !== false)
          .map(({ name }) => `${name} of ${pod.labels["bailiff.dev/pool"]}`),
      ),
    );
    const expected = rows.map((row) =>
      workersOf(row)
        .filter(({ spec }) => spec.runtimeClassName !== "sysbox-runc")
        .map(({ labels }) => `engine of ${labels["bailiff.dev/pool"]}`),
    );
    expect(privileged).toEqual(expected);
    expect(rows.some(({ pods }) => pods.some(({ spec }) => spec.runtimeClassName === "sysbox-runc"))).toBe(
      true,
    );
  });

  it("runs everything else as a user, on a read-only root, without capabilities, under the default seccomp profile", () => {
    const problems = inEveryContainer(({ name, securityContext = {} }, { spec }) => {
      if (name === "engine") return true;
      const { runAsUser, runAsGroup } = spec.securityContext ?? {};
      return (
        securityContext["runAsNonRoot"] === true &&
        securityContext["readOnlyRootFilesystem"] === true &&
        securityContext["allowPrivilegeEscalation"] === false &&
        JSON.stringify(securityContext["capabilities"]) === '{"drop":["ALL"]}' &&
        JSON.stringify(securityContext["seccompProfile"]) === '{"type":"RuntimeDefault"}' &&
        securityContext["runAsUser"] === undefined &&
        Number(runAsUser) > 0 &&
        Number(runAsGroup) > 0
      );
    });
    expect(problems).toEqual([]);
  });

  it("gives no pod a token, the node's namespaces, its files, or the variables of Services", () => {
    const problems = inEveryPod(({ spec }) => [
      spec.automountServiceAccountToken === false ? null : "a token",
      spec.hostNetwork === true || spec.hostPID === true || spec.hostIPC === true
        ? "the node's namespaces"
        : null,
      spec.volumes?.some(({ hostPath }) => hostPath !== undefined) === true ? "the node's files" : null,
      // A Service named bailiff would make BAILIFF_PORT, which Bailiff refuses as a misspelt setting.
      spec.enableServiceLinks === false ? null : "Services' variables",
    ]);
    expect(problems).toEqual([]);
  });

  it("sets no fsGroup where workspaces or keys are mounted, which it would let the group write", () => {
    const problems = inEveryPod(({ spec }) => {
      const isOurs = spec.volumes?.some(({ name }) => name === "workspaces" || name === "keys") === true;
      return [isOurs && spec.securityContext?.["fsGroup"] !== undefined ? "fsGroup" : null];
    });
    expect(problems).toEqual([]);
  });

  it("mounts Secrets so that a user can read them and nobody write them", () => {
    const modes = inEveryPod(({ spec }) =>
      (spec.volumes ?? []).map(({ name, secret }) =>
        secret === undefined || name === "registry" || secret.defaultMode === 0o444 ? null : name,
      ),
    );
    expect(modes).toEqual([]);
    const writable = inEveryContainer(({ volumeMounts = [] }) =>
      volumeMounts.every((mount) => !mount.mountPath.startsWith("/etc/") || mount.readOnly === true),
    );
    expect(writable).toEqual([]);
  });

  it("shows the engine's socket to the worker alone, and API keys to the API alone", () => {
    const problems = inEveryContainer(({ name, volumeMounts = [] }) => {
      const mounts = volumeMounts.map((mount) => mount.name);
      return (
        mounts.includes("engine-socket") === ["engine", "worker"].includes(name) &&
        mounts.includes("keys") === (name === "api")
      );
    });
    expect(problems).toEqual([]);
  });
});

describe("what containers call", () => {
  it("is in Bailiff's image, which has no shell, or in what they mount", () => {
    const roles = createCommands().map(({ name }) => name);
    const isIn = (word: string, directory: string) => word === directory || word.startsWith(`${directory}/`);
    const problems = inEveryPod(({ spec }, row) => {
      const image = row.pods.find(({ labels }) => labels["app.kubernetes.io/component"] === "api")?.spec
        .containers[0]?.image;
      return containersOf(spec)
        .filter((container) => container.image === image)
        .flatMap((container) => {
          const { name, command, args = [], volumeMounts = [], lifecycle } = container;
          const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
          const hooks = [lifecycle?.preStop?.exec.command, ...probes.map((probe) => probe?.exec?.command)];
          const lines = [
            [...(command ?? ["bailiff"]), ...args],
            ...hooks.filter((hook) => hook !== undefined),
          ];
          const programs = lines.map(([program = ""]) =>
            program.startsWith("/") ? program : `${PATH_OF_IMAGE}/${program}`,
          );
          const paths = lines.flat().filter((word) => /^\/\S+$/.test(word));
          return [
            ...[...programs, ...paths].map((path) =>
              (FILES_OF_IMAGE as readonly string[]).includes(path) ||
              volumeMounts.some(({ mountPath }) => isIn(path, mountPath))
                ? null
                : `${name} calls ${path}`,
            ),
            command === undefined && !roles.includes(args[0] ?? "") ? `${name} has no role` : null,
          ];
        });
    });
    expect(problems).toEqual([]);
  });
});

describe("secrets", () => {
  it("makes no Secret and writes no secret into an object", () => {
    const problems = inEveryRow((row) => [
      ...ofKind(row, "Secret").map(({ metadata }) => metadata.name),
      ...row.pods.flatMap(({ spec }) =>
        containersOf(spec).flatMap(({ env = [] }) =>
          env.map(({ name, value }) => {
            const isSecret = /PASSWORD|SECRET|TOKEN|KEY|CREDENTIAL|REDIS_URL/.test(name);
            const isReference =
              value === undefined ||
              name.endsWith("_FILE") ||
              /^redis:\/\/:\$\(REDIS_PASSWORD\)@/.test(value);
            return isSecret && !isReference ? name : null;
          }),
        ),
      ),
      /:\/\/[^\s/"]*:(?!\$\()[^\s/"@]+@/.test(JSON.stringify(row.objects)) ? "a URL with a password" : null,
    ]);
    expect(problems).toEqual([]);
  });

  it("finds every Secret, ConfigMap, claim and account that it names, or the operator makes it", () => {
    const problems = inEveryRow((row) => {
      const isThere = (kind: keyof typeof GIVEN, name: string) =>
        (GIVEN[kind] as readonly string[]).includes(name) || named(row, kind, name) !== undefined;
      return row.pods.flatMap(({ owner, spec }) => {
        const claims = specOf<{ volumeClaimTemplates?: { metadata: { name: string } }[] }>(owner);
        const made = (claims.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
        const volumes = spec.volumes ?? [];
        const mounts = containersOf(spec).flatMap(({ volumeMounts = [] }) => volumeMounts);
        return [
          ...volumes.flatMap((volume) => [
            ...[volume.configMap, ...(volume.projected?.sources ?? []).map(({ configMap }) => configMap)].map(
              (map) => (map === undefined || isThere("ConfigMap", map.name) ? null : `ConfigMap ${map.name}`),
            ),
            volume.secret === undefined || isThere("Secret", volume.secret.secretName)
              ? null
              : `Secret ${volume.secret.secretName}`,
            volume.persistentVolumeClaim === undefined ||
            isThere("PersistentVolumeClaim", volume.persistentVolumeClaim.claimName)
              ? null
              : `claim ${volume.persistentVolumeClaim.claimName}`,
            mounts.some(({ name }) => name === volume.name) ? null : `${volume.name} is not mounted`,
          ]),
          ...mounts.map(({ name }) =>
            made.includes(name) || volumes.some((volume) => volume.name === name)
              ? null
              : `no volume ${name}`,
          ),
          ...containersOf(spec).flatMap(({ env = [] }) =>
            env.map(({ valueFrom }) =>
              valueFrom?.secretKeyRef === undefined || isThere("Secret", valueFrom.secretKeyRef.name)
                ? null
                : valueFrom.secretKeyRef.name,
            ),
          ),
          ...(spec.imagePullSecrets ?? []).map(({ name }) => (isThere("Secret", name) ? null : name)),
          named(row, "ServiceAccount", spec.serviceAccountName ?? "") === undefined ? "no account" : null,
        ];
      });
    });
    expect(problems).toEqual([]);
  });
});

describe("selectors and ports", () => {
  it("selects a workload's own pods and no other's", () => {
    const problems = inEveryRow((row) =>
      row.pods.flatMap(({ owner }) => {
        if (owner.kind === "Pod") return [];
        const selected = row.pods.filter(({ labels }) => isSelected(selectorOf(owner), labels));
        return [selected.length === 1 && selected[0]?.owner === owner ? null : owner.metadata.name];
      }),
    );
    expect(problems).toEqual([]);
  });

  it("selects something with every Service, budget, policy, monitor and spread, and scales what there is", () => {
    const problems = inEveryRow((row) => {
      const pods = (selector: LabelSelector) => row.pods.some(({ labels }) => isSelected(selector, labels));
      const services = (selector: LabelSelector) =>
        ofKind(row, "Service").some(({ metadata }) => isSelected(selector, metadata.labels));
      const check = (kind: string, holds: (object: KubernetesObject) => boolean) =>
        ofKind(row, kind).map((object) => (holds(object) ? null : `${kind} ${object.metadata.name}`));
      const hasTarget = (object: KubernetesObject) => {
        const { kind, name } = specOf<{ scaleTargetRef: { kind: string; name: string } }>(
          object,
        ).scaleTargetRef;
        const target = named(row, kind, name);
        // A number of its own would be set again at each upgrade.
        return target !== undefined && target.spec?.["replicas"] === undefined;
      };
      return [
        ...check("Service", (object) =>
          pods({ matchLabels: specOf<{ selector: Record<string, string> }>(object).selector }),
        ),
        ...check("PodDisruptionBudget", (object) => pods(selectorOf(object))),
        ...check("NetworkPolicy", (object) =>
          pods(specOf<{ podSelector: LabelSelector }>(object).podSelector),
        ),
        ...check("ServiceMonitor", (object) => services(selectorOf(object))),
        ...check("HorizontalPodAutoscaler", hasTarget),
        ...check("ScaledObject", hasTarget),
        ...check(
          "StatefulSet",
          (object) =>
            named(row, "Service", specOf<{ serviceName: string }>(object).serviceName) !== undefined,
        ),
        ...row.pods.flatMap(({ owner, labels, spec }) =>
          (spec.topologySpreadConstraints ?? []).map(({ labelSelector }) =>
            isSelected(labelSelector, labels) ? null : `spread of ${owner.metadata.name}`,
          ),
        ),
      ];
    });
    expect(problems).toEqual([]);
  });

  it("names only ports that the pods have, in Services, probes, policies, monitors and Ingresses", () => {
    const portsOf = ({ spec }: Pod) =>
      containersOf(spec).flatMap(({ ports = [] }) => ports.map(({ name }) => name));
    const problems = inEveryRow((row) => {
      const podsBy = (selector: LabelSelector) =>
        row.pods.filter(({ labels }) => isSelected(selector, labels));
      const inServices = ofKind(row, "Service").flatMap((service) => {
        const { selector, ports } = specOf<{
          selector: Record<string, string>;
          ports: { targetPort: string }[];
        }>(service);
        return ports.map(({ targetPort }) =>
          podsBy({ matchLabels: selector }).every((pod) => portsOf(pod).includes(targetPort))
            ? null
            : `Service ${service.metadata.name}`,
        );
      });
      const inProbes = row.pods.flatMap(({ spec }) =>
        containersOf(spec).flatMap(({ ports = [], startupProbe, livenessProbe, readinessProbe }) =>
          [startupProbe, livenessProbe, readinessProbe].map((probe) => {
            const port = probe?.httpGet?.port;
            return port === undefined || ports.some(({ name }) => name === port) ? null : `probe ${port}`;
          }),
        ),
      );
      type Rule = {
        from?: { podSelector?: LabelSelector; namespaceSelector?: object }[];
        to?: Rule["from"];
        ports: { port: string | number }[];
      };
      const inPolicies = ofKind(row, "NetworkPolicy").flatMap((policy) => {
        const {
          podSelector,
          ingress = [],
          egress = [],
        } = specOf<{
          podSelector: LabelSelector;
          ingress?: Rule[];
          egress?: Rule[];
        }>(policy);
        const has = (selector: LabelSelector, port: string | number) =>
          typeof port === "number" || podsBy(selector).some((pod) => portsOf(pod).includes(port));
        return [
          ...ingress.flatMap(({ ports }) => ports.map(({ port }) => has(podSelector, port))),
          ...egress.flatMap(({ to = [], ports }) =>
            to.flatMap((peer) =>
              peer.podSelector === undefined || peer.namespaceSelector !== undefined
                ? ports.map(({ port }) => typeof port === "number")
                : ports.map(({ port }) => has(peer.podSelector ?? {}, port)),
            ),
          ),
        ].map((holds) => (holds ? null : `NetworkPolicy ${policy.metadata.name}`));
      });
      const servicePorts = (selector: LabelSelector) =>
        ofKind(row, "Service")
          .filter(({ metadata }) => isSelected(selector, metadata.labels))
          .flatMap((service) => specOf<{ ports: { name: string }[] }>(service).ports.map(({ name }) => name));
      const inMonitors = ofKind(row, "ServiceMonitor").flatMap((monitor) =>
        specOf<{ endpoints: { port: string }[] }>(monitor).endpoints.map(({ port }) =>
          servicePorts(selectorOf(monitor)).includes(port) ? null : `ServiceMonitor ${monitor.metadata.name}`,
        ),
      );
      type Backend = { service: { name: string; port: { name: string } } };
      const inIngresses = ofKind(row, "Ingress").flatMap((ingress) =>
        specOf<{ rules: { http: { paths: { backend: Backend }[] } }[] }>(ingress).rules.flatMap(({ http }) =>
          http.paths.map(({ backend: { service } }) => {
            const found = named(row, "Service", service.name);
            const ports = found === undefined ? [] : specOf<{ ports: { name: string }[] }>(found).ports;
            return ports.some(({ name }) => name === service.port.name) ? null : `Ingress to ${service.name}`;
          }),
        ),
      );
      return [...inServices, ...inProbes, ...inPolicies, ...inMonitors, ...inIngresses];
    });
    expect(problems).toEqual([]);
  });

  it("denies every pod all traffic, both ways, before it allows any", () => {
    const withPolicies = rows.filter(({ values }) => !values.startsWith("gvisor"));
    expect(withPolicies.length).toBeGreaterThan(0);
    const problems = withPolicies.flatMap((row) =>
      row.pods.filter(({ labels }) =>
        ofKind(row, "NetworkPolicy").every((policy) => {
          const { podSelector, policyTypes } = specOf<{ podSelector: LabelSelector; policyTypes: string[] }>(
            policy,
          );
          return !isSelected(podSelector, labels) || policyTypes.join() !== "Ingress,Egress";
        }),
      ),
    );
    expect(problems.map(({ owner }) => owner.metadata.name)).toEqual([]);
  });

  it("lets API and workers, and nothing else, reach the collector, and only where there is one", () => {
    const problems = inEveryRow((row) => {
      const reaching = ofKind(row, "NetworkPolicy")
        .filter((policy) => JSON.stringify(policy.spec?.["egress"] ?? []).includes('"port":4318'))
        .map(({ metadata }) => metadata.name);
      const isTraced = workersOf(row).map(
        (pod) => configOf(row, containerOf(pod, "worker")).telemetry.otlpEndpoint !== null,
      );
      const wanted = isTraced[0] === true ? ["release-bailiff-api", "release-bailiff-worker"] : [];
      return [JSON.stringify(reaching) === JSON.stringify(wanted) ? null : reaching.join()];
    });
    expect(problems).toEqual([]);
    const traced = rows.filter(({ values }) => values.startsWith("queue-metric"));
    expect(traced.length).toBeGreaterThan(0);
    for (const row of traced)
      for (const pod of row.pods.filter(({ labels }) =>
        ["api", "worker"].includes(labels["app.kubernetes.io/component"] ?? ""),
      ))
        expect(
          configOf(row, containerOf(pod, isWorker(pod) ? "worker" : "api")).telemetry.otlpAuthorization,
        ).toBe("Bearer of-the-collector");
  });

  it("lets no rule of a policy reach everything, nor the metadata address", () => {
    const problems = inEveryRow((row) =>
      ofKind(row, "NetworkPolicy").flatMap((policy) => {
        type Peers = { to?: { ipBlock?: { cidr: string; except?: string[] } }[]; from?: object[] }[];
        const { egress = [], ingress = [] } = specOf<{ egress?: Peers; ingress?: Peers }>(policy);
        return [
          ...egress.map(({ to = [] }) => {
            const isBounded = to.every(
              ({ ipBlock }) =>
                ipBlock?.cidr !== "0.0.0.0/0" || ipBlock.except?.includes("169.254.0.0/16") === true,
            );
            return to.length > 0 && isBounded ? null : policy.metadata.name;
          }),
          ...ingress.map(({ from = [] }) => (from.length > 0 ? null : policy.metadata.name)),
        ];
      }),
    );
    expect(problems).toEqual([]);
  });
});

describe("resources and images", () => {
  it("asks for CPU and memory with every container, and bounds its memory", () => {
    const problems = inEveryContainer((container) =>
      [
        quantityOf(container, "requests", "cpu"),
        quantityOf(container, "requests", "memory"),
        quantityOf(container, "limits", "memory"),
      ].every((quantity) => quantity !== undefined),
    );
    expect(problems).toEqual([]);
  });

  it("gives an engine the memory of as many of the largest commands as its worker runs at once", async () => {
    const problems = [];
    for (const row of rows) {
      for (const pod of workersOf(row)) {
        const config = configOf(row, containerOf(pod, "worker"));
        const policy = await policyOf(row, config);
        const pool = pod.labels["bailiff.dev/pool"];
        const sizes = listProfiles(policy, config.images)
          .filter((profile) => profile.pool === pool)
          .map(({ limits }) => limits.memoryBytes / 2 ** 20);
        const engine = containerOf(pod, "engine");
        const wanted = config.worker.concurrency * Math.max(...sizes) + 512;
        const given = [quantityOf(engine, "requests", "memory"), quantityOf(engine, "limits", "memory")];
        if (given.some((quantity) => mebibytes(quantity) !== wanted))
          problems.push(`${row.title} ${pool} ${wanted}`);
      }
    }
    expect(problems).toEqual([]);
  });

  it("pins every image by digest where the values give digests, and never takes a moving tag", () => {
    const images = (row: Rendered) =>
      row.pods.flatMap(({ spec }) => containersOf(spec).map(({ image }) => image));
    const production = rows.filter(({ values }) => values.startsWith("production"));
    expect(production.flatMap(images).filter((image) => !/@sha256:[0-9a-f]{64}$/.test(image))).toEqual([]);
    expect(
      inEveryRow((row) => images(row).map((image) => (/:latest$|^[^:@]+$/.test(image) ? image : null))),
    ).toEqual([]);
  });
});

describe("a worker and its engine", () => {
  const mountsOf = (container: Container, name: string) =>
    (container.volumeMounts ?? [])
      .filter((mount) => mount.name === name)
      .map(({ mountPath, subPath }) => [mountPath, subPath ?? null]);

  it("sees workspaces, socket and bailiff-init at the same paths in worker, engine and API", () => {
    const problems = inEveryRow((row) => {
      const api = row.pods.find(({ labels }) => labels["app.kubernetes.io/component"] === "api");
      return workersOf(row).flatMap((pod) =>
        ["workspaces", "engine-socket", "init"].map((name) => {
          const inWorker = mountsOf(containerOf(pod, "worker"), name);
          const others = [mountsOf(containerOf(pod, "engine"), name)];
          if (name === "workspaces" && api !== undefined)
            others.push(mountsOf(containerOf(api, "api"), name));
          return inWorker.length === 1 &&
            others.every((other) => JSON.stringify(other) === JSON.stringify(inWorker))
            ? null
            : name;
        }),
      );
    });
    expect(problems).toEqual([]);
  });

  it("keeps the engine's own data on the node's disk", () => {
    const problems = inEveryPod((pod) => {
      if (!isWorker(pod)) return [];
      const data = pod.spec.volumes?.find(({ name }) => name === "engine-data");
      return [data?.emptyDir !== undefined && "sizeLimit" in data.emptyDir ? null : "engine-data"];
    });
    expect(problems).toEqual([]);
  });

  it("makes the engine a native sidecar behind bailiff-init from Kubernetes 1.29 on", () => {
    const orders = rows
      .filter(({ kubernetes }) => kubernetes !== OLD_KUBERNETES)
      .flatMap(workersOf)
      .map(({ spec }) => ({
        init: spec.initContainers?.map(({ name, restartPolicy }) => `${name} ${restartPolicy ?? "once"}`),
        main: spec.containers.map(({ name, args }) => `${name} ${args?.join()}`),
        hook: spec.initContainers?.some(({ lifecycle }) => lifecycle !== undefined),
      }));
    expect(new Set(orders.map((order) => JSON.stringify(order)))).toEqual(
      new Set([
        JSON.stringify({ init: ["init once", "engine Always"], main: ["worker worker"], hook: false }),
      ]),
    );
  });

  it("makes it a plain container below, which outlives the worker by a preStop hook, and for which the worker waits", () => {
    const old = rows.filter(({ kubernetes }) => kubernetes === OLD_KUBERNETES).flatMap(workersOf);
    expect(old.length).toBeGreaterThan(0);
    for (const pod of old) {
      expect(pod.spec.initContainers?.map(({ name }) => name)).toEqual(["init"]);
      expect(pod.spec.containers.map(({ name }) => name)).toEqual(["worker", "engine"]);
      expect(containerOf(pod, "engine").restartPolicy).toBeUndefined();
      expect(containerOf(pod, "engine").lifecycle?.preStop?.exec.command.at(-1)).toContain(
        "http://127.0.0.1:9090/healthz",
      );
      expect(containerOf(pod, "worker").args).toEqual([
        "there",
        "/run/bailiff/engine/ready",
        "/usr/local/bin/bailiff",
        "worker",
      ]);
    }
  });

  it("has time for the longest command, for recording it, and 20 s beyond", () => {
    const problems = inEveryRow((row) =>
      workersOf(row).map((pod) => {
        const { limits, worker } = configOf(row, containerOf(pod, "worker"));
        const isOwn = pod.labels["bailiff.dev/pool"] === "sysbox";
        const graceMs = isOwn ? 30_000 : limits.hardTimeoutMs + limits.graceMs + 3_000;
        const seconds = pod.spec.terminationGracePeriodSeconds ?? 0;
        return worker.shutdownGraceMs === graceMs && seconds * 1_000 >= worker.shutdownGraceMs + 20_000
          ? null
          : `${worker.shutdownGraceMs} ms in ${seconds} s`;
      }),
    );
    expect(problems).toEqual([]);
  });

  it("has the engine ready the images of its pool's profiles, with the OCI runtimes they name", async () => {
    const problems: string[] = [];
    for (const row of rows) {
      for (const pod of workersOf(row)) {
        const pool = pod.labels["bailiff.dev/pool"] ?? "";
        const config = configOf(row, containerOf(pod, "worker"));
        const policy = await policyOf(row, config);
        const profiles = listProfiles(policy, config.images).filter((profile) => profile.pool === pool);
        const preloaded = variable(containerOf(pod, "engine"), "ENGINE_IMAGES")?.split(" ") ?? [];
        const text = named(row, "ConfigMap", "release-bailiff-engine")?.data?.[`daemon-${pool}.json`] ?? "{}";
        const daemon = JSON.parse(text) as { runtimes: Record<string, object>; bridge?: string };
        const isServed =
          profiles.length > 0 &&
          profiles.every(
            ({ image, ociRuntime, network }) =>
              preloaded.includes(image) &&
              (ociRuntime === null || ociRuntime in daemon.runtimes) &&
              (network === "none") === (daemon.bridge === "none"),
          );
        if (!isServed) problems.push(`${row.title} ${pool}`);
      }
    }
    expect(problems).toEqual([]);
    expect(rows.some((row) => JSON.stringify(row.objects).includes("runsc"))).toBe(true);
  });
});

describe("Bailiff's own configuration", () => {
  it("is one that Bailiff loads in API and workers, each on its pool and with its probe", () => {
    const problems = inEveryRow((row) => {
      const api = row.pods.find(({ labels }) => labels["app.kubernetes.io/component"] === "api");
      if (api === undefined) return ["no API"];
      const { server } = configOf(row, containerOf(api, "api"));
      return [
        containerOf(api, "api").ports?.[0]?.containerPort === server.port ? null : "the API's port",
        server.host === "0.0.0.0" ? null : "the API's address",
        ...workersOf(row).flatMap((pod) => {
          const container = containerOf(pod, "worker");
          const { worker, redis } = configOf(row, container);
          return [
            worker.pools.join() === pod.labels["bailiff.dev/pool"] ? null : "the pool",
            container.ports?.[0]?.containerPort === worker.probePort ? null : "the probe's port",
            redis.url === null ? "no Redis" : null,
          ];
        }),
      ];
    });
    expect(problems).toEqual([]);
  });

  it("runs as the runner, the only user but root that Bailiff accepts", () => {
    const problems = inEveryRow((row) =>
      row.pods
        .filter(({ labels }) => ["api", "worker"].includes(labels["app.kubernetes.io/component"] ?? ""))
        .map((pod) => {
          const { workspaces } = configOf(row, containerOf(pod, isWorker(pod) ? "worker" : "api"));
          const { runAsUser, runAsGroup } = pod.spec.securityContext ?? {};
          return runAsUser === workspaces.runnerUid && runAsGroup === workspaces.runnerGid
            ? null
            : pod.owner.metadata.name;
        }),
    );
    expect(problems).toEqual([]);
  });

  it("comes with a policy that loads, in which every profile is in its pool and has its image", async () => {
    for (const row of rows) {
      const [pod] = workersOf(row);
      if (pod === undefined) throw new Error(`${row.title} has no worker`);
      const config = configOf(row, containerOf(pod, "worker"));
      const policy = await policyOf(row, config);
      const profiles = listProfiles(policy, config.images);
      const pools = workersOf(row).map(({ labels }) => labels["bailiff.dev/pool"]);
      expect(new Set(profiles.map(({ pool }) => pool)), row.title).toEqual(new Set(pools));
      expect(profiles.map(({ name }) => name)).toContain("default");
    }
  });

  it("mounts the policy as a directory that follows its ConfigMap, and restarts nothing when a text changes", async () => {
    const paths = inEveryContainer(({ volumeMounts = [] }) =>
      volumeMounts.every(({ name, subPath }) => name !== "policy" || subPath === undefined),
    );
    expect(paths).toEqual([]);
    const render = (base: string) =>
      renderChart(tools, "helm4", "minimal-values.yaml", NEW_KUBERNETES, [
        "--set-string",
        `policy.base=${base}`,
      ]);
    const [before, after] = [await render("version: 1"), await render("version: 1 # changed")];
    expect(after.objects).not.toEqual(before.objects);
    expect(after.pods).toEqual(before.pods);
    const more = ["--set", "config.limits.hard_timeout_ms=60000"];
    const changed = await renderChart(tools, "helm4", "minimal-values.yaml", NEW_KUBERNETES, more);
    expect(changed.pods).not.toEqual(before.pods);
  });
});

describe("scaling", () => {
  it("lets KEDA count what waits and what is active, by the queue's own keys and the worker's concurrency", () => {
    const scaled = rows.flatMap((row) => ofKind(row, "ScaledObject").map((object) => ({ row, object })));
    expect(scaled.length).toBeGreaterThanOrEqual(9);
    for (const { row, object } of scaled) {
      const spec = specOf<{
        scaleTargetRef: { name: string };
        advanced: { scalingModifiers: { formula: string; target: string } };
        triggers: { name: string; metadata: { listName: string; address: string } }[];
      }>(object);
      const pod = workersOf(row).find(({ owner }) => owner.metadata.name === spec.scaleTargetRef.name);
      if (pod === undefined) throw new Error(`${object.metadata.name} scales nothing`);
      const config = configOf(row, containerOf(pod, "worker"));
      const keys = new QueueKeys(createKeys(config.deployment).queuePrefix).getKeys(
        config.worker.pools[0] ?? "",
      );
      expect(spec.triggers.map(({ name, metadata }) => [name, metadata.listName])).toEqual(
        ["wait", "prioritized", "active"].map((name) => [name, keys[name]]),
      );
      expect(spec.advanced.scalingModifiers).toMatchObject({
        formula: "wait + prioritized + active",
        target: String(config.worker.concurrency),
      });
    }
  });

  it("scales without KEDA by the CPU of the engine, below whose cgroup commands run", () => {
    const scalers = rows
      .filter(({ values }) => !values.startsWith("queue-metric"))
      .flatMap((row) => ofKind(row, "HorizontalPodAutoscaler"));
    const ofWorkers = scalers.filter(
      ({ metadata }) => metadata.labels?.["app.kubernetes.io/component"] === "worker",
    );
    expect(ofWorkers.length).toBeGreaterThan(0);
    for (const scaler of ofWorkers)
      expect(scaler.spec?.["metrics"]).toMatchObject([
        { containerResource: { container: "engine", name: "cpu" } },
      ]);
  });

  it("scales without KEDA by the entries of each pool's queue, which Bailiff exports, divided by the worker's concurrency", () => {
    const scaled = rows
      .filter(({ values }) => values.startsWith("queue-metric"))
      .flatMap((row) =>
        workersOf(row).map((pod) => ({ row, pod, pool: pod.labels["bailiff.dev/pool"] ?? "" })),
      );
    expect(new Set(scaled.map(({ pool }) => pool))).toEqual(new Set(["default", "small"]));
    for (const { row, pod, pool } of scaled) {
      const scaler = named(row, "HorizontalPodAutoscaler", pod.owner.metadata.name);
      const more = pool === "small" ? { service: "release-bailiff-api" } : {};
      const { worker } = configOf(row, containerOf(pod, "worker"));
      expect(scaler?.spec?.["metrics"]).toEqual([
        {
          type: "External",
          external: {
            metric: { name: "bailiff_queue_entries", selector: { matchLabels: { pool, ...more } } },
            target: { type: "AverageValue", averageValue: String(worker.concurrency) },
          },
        },
      ]);
    }
    expect(METRIC_TABLE["bailiff_queue_entries"]).toMatchObject({ kind: "gauge", labels: ["pool", "state"] });
  });

  it("asks for nothing of KEDA or Prometheus where the values do not", () => {
    const minimal = rows.filter(({ values }) => values.startsWith("minimal"));
    const foreign = minimal
      .flatMap(({ objects }) => objects)
      .filter(({ apiVersion }) => /keda|coreos/.test(apiVersion));
    expect(foreign).toEqual([]);
  });

  it("runs no Redis of its own where there is an external one, and asks that one over TLS, by the authority and with the certificate of a Secret", () => {
    for (const row of rows.filter(({ values }) => values.startsWith("external-redis"))) {
      expect(
        row.objects.filter(({ metadata }) => metadata.name.endsWith("-redis")).map(({ kind }) => kind),
      ).toEqual(["TriggerAuthentication"]);
      expect(JSON.stringify(ofKind(row, "ScaledObject"))).toContain('"enableTLS":"true"');
      const place = "/etc/bailiff/secrets/redis-tls";
      const [caFile, certFile, keyFile] = [`${place}/ca.crt`, `${place}/tls.crt`, `${place}/tls.key`];
      for (const pod of row.pods.filter(({ owner }) => owner.kind !== "Pod")) {
        const container = containerOf(pod, isWorker(pod) ? "worker" : "api");
        expect(configOf(row, container).redis.tls).toEqual({ caFile, certFile, keyFile });
        expect(container.volumeMounts?.map(({ mountPath }) => mountPath)).toContain(place);
      }
    }
  });
});

it("names more nodes of an external Redis Cluster", async () => {
  const sets = ["--set", "redis.external.clusterNodes={a.example.com:6379,b.example.com:6379}"];
  const row = await renderChart(tools, "helm4", "external-redis-values.yaml", NEW_KUBERNETES, sets);
  const text = named(row, "ConfigMap", "release-bailiff-config")?.data?.["bailiff.yaml"] ?? "";
  expect(parse(text)).toMatchObject({
    redis: { cluster_nodes: ["a.example.com:6379", "b.example.com:6379"] },
  });
});

describe("monitoring", () => {
  it("links each alert to its own section of docs/alerts.md, which has no other", async () => {
    const rules = parse(await readFile(join(CHART, "files", "alerts.yaml"), "utf8")) as { alert: string }[];
    const sections = [...(await readFile(ALERTS_PAGE, "utf8")).matchAll(/^## (.+)$/gm)].map(
      ([, title]) => title,
    );
    expect(sections).toEqual(rules.map(({ alert }) => alert));
    const links = rows
      .filter(({ values }) => values.startsWith("keda"))
      .map((row) =>
        ofKind(row, "PrometheusRule").flatMap((object) =>
          specOf<{ groups: { rules: { annotations: { runbook_url: string } }[] }[] }>(object).groups.flatMap(
            ({ rules: each }) => each.map(({ annotations }) => annotations.runbook_url),
          ),
        ),
      );
    for (const each of links)
      expect(each).toEqual(rules.map(({ alert }) => `docs/alerts.md#${alert.toLowerCase()}`));
  });
});

describe("values that can't be meant", () => {
  const refusal = async (helm: HelmName, values: string | null, sets: readonly string[]) => {
    const args = ["template", "release", CHART];
    if (values !== null) args.push("--values", join(CHART, "ci", values));
    const { code, stderr } = await tools.helm(helm, [...args, ...sets.flatMap((set) => ["--set-json", set])]);
    return code === 0 ? "taken" : stderr;
  };

  /** Each alone would be refused; helm names all of them in one answer. */
  const WRONG: readonly (readonly [string, RegExp])[] = [
    ["apii={}", /apii/],
    ["worker.concurency=4", /concurency/],
    ["pools[0].replicaz=2", /replicaz/],
    ["config.limits.hard_timeout=5", /hard_timeout\b/],
    ["config.limits.grace_ms=99", /grace_ms/],
    // Secrets are taken by reference alone.
    ['config.telemetry={"otlp_authorization":"s3cr3t"}', /otlp_authorization/],
    // What the chart decides itself.
    ['config.redis={"url":"redis://x"}', /config.*redis/],
    ['api.replicas="two"', /api[./]replicas/],
    ["worker.concurrency=0", /worker[./]concurrency/],
    ['pools[0].profiles.default.image="sandbox:1"', /profiles[./]default[./]image/],
    ['image.digest="sha256:12"', /image[./]digest/],
    ["worker.autoscaling.minReplicas=0", /autoscaling[./]minReplicas/],
    // No object could carry it.
    ['pools[0].name="A_b"', /pools[./]0[./]name/],
    ['pools[1]={"name":"b","profiles":{}}', /pools[./]1[./]profiles/],
    ['workspaces.path="/var/lib/bailiff/w"', /workspaces[./]path/],
    ["workspaces.runnerUid=0", /workspaces[./]runnerUid/],
    // A Secret's value in place of its name.
    ['redis.secret="s3cr3t"', /redis[./]secret/],
    // An engine inside it could not set limits.
    ['worker.runtimeClassName="gvisor"', /worker[./]runtimeClassName/],
  ];

  it.each(["helm3", "helm4"] as const)("are each refused by the schema, by name: %s", async (helm) => {
    const words = await refusal(
      helm,
      "minimal-values.yaml",
      WRONG.map(([set]) => set),
    );
    expect(words).not.toBe("taken");
    const unnamed = WRONG.filter(([, name]) => !words.split("\n").some((line) => name.test(line)));
    expect(
      unnamed.map(([set]) => set),
      words,
    ).toEqual([]);
    expect(words).not.toContain("s3cr3t");
  });

  it("are refused where there is no pool", async () => {
    expect(await refusal("helm3", null, [])).toMatch(/pools/);
  });

  const image = `registry.example.com/x@sha256:${"2".repeat(64)}`;
  it.each([
    [
      "a pool that is there twice",
      [`pools[1]={"name":"default","profiles":{"b":{"image":"${image}"}}}`],
      /pool "default" is there twice/,
    ],
    [
      "a profile in two pools",
      [`pools[1]={"name":"b","profiles":{"default":{"image":"${image}"}}}`],
      /profile "default" is in two pools/,
    ],
    [
      "no default profile",
      [`pools=[{"name":"b","profiles":{"b":{"image":"${image}"}}}]`],
      /profile named default/,
    ],
    [
      "a network without one on the engine",
      ['pools[0].profiles.default.network="bridge"'],
      /needs engine.network/,
    ],
    [
      "a runtime that the engine lacks",
      ['pools[0].profiles.default.runtime="runsc"'],
      /names the runtime "runsc"/,
    ],
    ["an external Redis that no policy lets reach", ["redis.bundled.enabled=false"], /redis.external.egress/],
    [
      "KEDA without an address",
      ["redis.bundled.enabled=false", 'worker.autoscaling.mode="keda"'],
      /redis.external.address/,
    ],
    ["scraping the API without a key", ["metrics.serviceMonitor.enabled=true"], /metrics.apiKeySecret.name/],
    [
      "a collector that no policy lets reach",
      ['config.telemetry.otlp_endpoint="http://collector:4318"'],
      /networkPolicy.collectorEgress/,
    ],
    [
      "two sets of metrics to scale by",
      [
        'worker.autoscaling.hpa={"queueMetric":{"name":"bailiff_queue_entries"},"metrics":[{"type":"External"}]}',
      ],
      /both autoscaling.hpa.queueMetric and hpa.metrics/,
    ],
    ["bounds the wrong way round", ["worker.autoscaling.minReplicas=20"], /minReplicas above maxReplicas/],
    [
      "a policy of one's own without files",
      ['policy.existingConfigMap.name="p"'],
      /policy.existingConfigMap.files/,
    ],
  ])("are refused in the chart's own words: %s", async (_, sets, sentence) => {
    expect(await refusal("helm4", "minimal-values.yaml", sets)).toMatch(sentence);
  });

  it("has a schema of its own for every value that it reads", async () => {
    const values = parse(await readFile(join(CHART, "values.yaml"), "utf8")) as object;
    const schema = JSON.parse(await readFile(join(CHART, "values.schema.json"), "utf8")) as {
      properties: object;
    };
    expect(Object.keys(values).filter((key) => !(key in schema.properties))).toEqual([]);
  });
});

describe("what helm prints", () => {
  it("is refused by the tests' own reader where a key is there twice", () => {
    expect(() => parseObjects("a: 1\na: 2\n")).toThrow(/unique/);
  });
});
