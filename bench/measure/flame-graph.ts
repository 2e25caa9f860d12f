/** What Node.js writes with `--cpu-prof`: times in microseconds of the machine's monotonic clock. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** One box: a function under its callers. */
interface Frame {
  readonly name: string;
  readonly module: string;
  ms: number;
  selfMs: number;
  readonly children: Map<string, Frame>;
}

/** Processor time of a part of a profile, as a tree of calls. */
export interface CallTree {
  readonly busyMs: number;
  /** Time in each module's own functions, the longest first. */
  readonly byModule: readonly (readonly [module: string, ms: number])[];
  readonly root: Frame;
}

const WAITING = new Set(["(idle)", "(root)"]);
const WIDTH = 1200;
const ROW = 17;
const TEXT_PER_CHARACTER = 6.6;
/** Narrower ones can't be seen. */
const LEAST_WIDTH = 2;

const frame = (name: string, module: string): Frame => ({
  name,
  module,
  ms: 0,
  selfMs: 0,
  children: new Map(),
});

/** The package, the folder of this project or the part of Node.js that a function belongs to. */
function moduleOf(url: string, name: string): string {
  if (url === "") return name.startsWith("(") ? name.slice(1, -1) : "native code";
  if (url.startsWith("node:"))
    return `node:${
      url
        .slice(5)
        .replace(/^internal\//, "")
        .split("/")[0]
    }`;
  const installed = url.lastIndexOf("/node_modules/");
  if (installed !== -1) {
    const parts = url.slice(installed + 14).split("/");
    return parts[0]?.startsWith("@") ? `${parts[0]}/${parts[1]}` : (parts[0] ?? "");
  }
  const own = url.lastIndexOf("/dist/");
  return own === -1
    ? "elsewhere"
    : `bailiff ${url
        .slice(own + 6)
        .split("/")
        .slice(0, 2)
        .join("/")}`;
}

/** Adds the samples between two moments up, by the whole stack of each. */
export function callTree(profile: CpuProfile, fromUs: number, toUs: number): CallTree {
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const parent = new Map<number, number>();
  for (const { id, children = [] } of profile.nodes) for (const child of children) parent.set(child, id);
  const root = frame("all", "all");
  const modules = new Map<string, number>();
  let atUs = profile.startTime;
  profile.samples.forEach((id, index) => {
    const tookUs = profile.timeDeltas[index] ?? 0;
    atUs += tookUs;
    const leaf = byId.get(id);
    if (atUs < fromUs || atUs > toUs || leaf === undefined || WAITING.has(leaf.callFrame.functionName))
      return;
    const ms = tookUs / 1000;
    const stack: (typeof leaf)[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parent.get(at)) {
      const node = byId.get(at);
      if (node !== undefined && !WAITING.has(node.callFrame.functionName)) stack.unshift(node);
    }
    let here = root;
    here.ms += ms;
    for (const { callFrame } of stack) {
      const module = moduleOf(callFrame.url, callFrame.functionName);
      const name = `${callFrame.functionName || "(anonymous)"} · ${module}`;
      const next = here.children.get(name) ?? frame(name, module);
      here.children.set(name, next);
      next.ms += ms;
      here = next;
    }
    here.selfMs += ms;
    modules.set(here.module, (modules.get(here.module) ?? 0) + ms);
  });
  return { busyMs: root.ms, byModule: [...modules].sort(([, a], [, b]) => b - a), root };
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Own code, packages and Node.js apart, and the same module always in the same shade. */
function colourOf(module: string): string {
  let hash = 0;
  for (const character of module) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 997;
  const shade = hash % 18;
  if (module.startsWith("bailiff")) return `hsl(210 ${60 + shade}% ${70 + (shade % 9)}%)`;
  if (module.startsWith("node:") || module === "native code")
    return `hsl(90 ${22 + shade}% ${76 + (shade % 9)}%)`;
  if (module === "garbage collector" || module === "program") return "hsl(0 0% 80%)";
  return `hsl(${24 + shade} 75% ${72 + (shade % 9)}%)`;
}

/** An SVG with one box per function, as wide as its share of the time, under what called it; each says its time when pointed at. */
export function flameGraph({ root, busyMs }: CallTree, title: string, perCommand: number): string {
  const boxes: string[] = [];
  let depth = 0;
  const draw = (each: Frame, x: number, level: number) => {
    const width = (each.ms / busyMs) * WIDTH;
    if (width < LEAST_WIDTH) return;
    depth = Math.max(depth, level);
    const label = each.name.slice(0, Math.max(0, Math.floor((width - 6) / TEXT_PER_CHARACTER)));
    const y = 30 + level * ROW;
    boxes.push(
      `<g><title>${escaped(each.name)}: ${(each.ms / perCommand).toFixed(3)} ms a command, ${((each.ms / busyMs) * 100).toFixed(1)} %</title>` +
        `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 1}" fill="${colourOf(each.module)}"/>` +
        `${label.length < 3 ? "" : `<text x="${(x + 3).toFixed(1)}" y="${y + 12}">${escaped(label)}</text>`}</g>`,
    );
    let at = x;
    for (const child of [...each.children.values()].sort((a, b) => b.ms - a.ms)) {
      draw(child, at, level + 1);
      at += (child.ms / busyMs) * WIDTH;
    }
  };
  draw(root, 0, 0);
  const height = 40 + (depth + 1) * ROW;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="11" role="img" aria-labelledby="title">`,
    `<title id="title">${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="4" y="18" font-size="13">${escaped(title)}: ${(busyMs / perCommand).toFixed(1)} ms of processor time a command</text>`,
    ...boxes,
    "</svg>",
    "",
  ].join("\n");
}
