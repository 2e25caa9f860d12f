import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { capture } from "./command.mjs";

/** `ID`, `ID_LIKE` and `VERSION_CODENAME` of this machine's distribution; empty strings where it doesn't say. */
export async function readDistribution() {
  const text = await readFile("/etc/os-release", "utf8").catch(() => "");
  const field = (name) => (text.match(new RegExp(`^${name}=(.*)$`, "m"))?.[1] ?? "").replace(/^"|"$/g, "");
  return { id: field("ID"), like: field("ID_LIKE"), codename: field("VERSION_CODENAME") };
}

/** True where apt is how packages are installed. */
export function isDebianLike(distribution) {
  return [distribution.id, ...distribution.like.split(" ")].some((id) => id === "debian" || id === "ubuntu");
}

/**
 * The package sources of this machine that belong to its own distribution, as deb822 stanzas. Third-party
 * sources are left out: the image must not depend on them, and an unreachable one would fail the build.
 */
export async function readDistributionSources(codename) {
  const files = ["/etc/apt/sources.list"];
  for (const name of await readdir("/etc/apt/sources.list.d").catch(() => [])) {
    files.push(join("/etc/apt/sources.list.d", name));
  }
  const stanzas = [];
  for (const file of files.sort()) {
    stanzas.push(...parseSources(file, await readFile(file, "utf8").catch(() => "")));
  }
  return stanzas.filter((stanza) => belongsTo(stanza, codename));
}

/** The stanzas of one file; a one-line entry becomes a stanza too. A file apt would ignore has none. */
export function parseSources(file, text) {
  if (file.endsWith(".sources")) return parseDeb822(text);
  return file.endsWith(".list") ? parseOneLine(text) : [];
}

/** True for an enabled source of binary packages whose every suite is of that release. */
export function belongsTo(stanza, codename) {
  return (
    codename !== "" &&
    stanza.Types.split(/\s+/).includes("deb") &&
    (stanza.Enabled ?? "yes").toLowerCase() !== "no" &&
    stanza.Suites.split(/\s+/).every((suite) => suite === codename || suite.startsWith(`${codename}-`))
  );
}

/** Stanzas as the text of one `.sources` file. */
export function formatSources(stanzas) {
  return stanzas
    .map((stanza) =>
      Object.entries({ ...stanza, Types: "deb" })
        .map(([key, value]) => `${key}: ${value}`)
        .join("\n"),
    )
    .join("\n\n")
    .concat("\n");
}

/** Stanzas in the older one-line form, one entry per suite; a key given inline can't be expressed and is left out. */
export function formatOneLine(stanzas) {
  const lines = [];
  for (const stanza of stanzas) {
    const signedBy = stanza["Signed-By"];
    const options = [];
    if (signedBy?.startsWith("/")) options.push(`signed-by=${signedBy}`);
    if (stanza.Trusted) options.push(`trusted=${stanza.Trusted}`);
    for (const uri of stanza.URIs.split(/\s+/)) {
      for (const suite of stanza.Suites.split(/\s+/)) {
        const bracket = options.length > 0 ? `[${options.join(" ")}] ` : "";
        lines.push(`deb ${bracket}${uri} ${suite} ${stanza.Components ?? ""}`.trimEnd());
      }
    }
  }
  return `${lines.join("\n")}\n`;
}

/** How this machine's apt reaches its sources (proxies, date checks, retries), as lines of an apt.conf. */
export async function readTransportOptions() {
  const { stdout } = await capture("apt-config", ["dump"]);
  const lines = stdout
    .split("\n")
    .filter((line) =>
      /^Acquire::(http|https|ftp|Check-Valid-Until|Check-Date|Retries|ForceIPv4|ForceIPv6)\b/i.test(line),
    )
    .filter((line) => !/ "";$/.test(line));
  for (const scheme of ["http", "https"]) {
    const proxy = process.env[`${scheme}_proxy`] ?? process.env[`${scheme.toUpperCase()}_PROXY`];
    if (proxy && !lines.some((line) => line.startsWith(`Acquire::${scheme}::Proxy `))) {
      lines.push(`Acquire::${scheme}::Proxy ${JSON.stringify(proxy)};`);
    }
  }
  return lines;
}

/**
 * Writes an apt configuration into `directory` that works under the path `mountedAt` inside a build container, so
 * that the build reaches packages as this machine does while nothing is written under the image's /etc/apt.
 * Without `stanzas` the base image's own sources stay in use.
 */
export async function writeBuildConfiguration(directory, mountedAt, stanzas, transportOptions) {
  const keys = join(directory, "keys");
  await mkdir(keys, { recursive: true });
  const lines = [...transportOptions];
  if (stanzas.length > 0) {
    const rewritten = [];
    for (const stanza of stanzas) {
      const copy = { ...stanza };
      const signedBy = stanza["Signed-By"];
      if (signedBy?.startsWith("/")) {
        await copyFile(signedBy, join(keys, basename(signedBy)));
        copy["Signed-By"] = `${mountedAt}/keys/${basename(signedBy)}`;
      }
      rewritten.push(copy);
    }
    for (const name of await readdir("/etc/apt/trusted.gpg.d").catch(() => [])) {
      await copyFile(join("/etc/apt/trusted.gpg.d", name), join(keys, name));
    }
    await mkdir(join(directory, "sources"), { recursive: true });
    await writeFile(join(directory, "sources", "machine.sources"), formatSources(rewritten));
    lines.push(
      'Dir::Etc::sourcelist "/dev/null";',
      `Dir::Etc::sourceparts "${mountedAt}/sources";`,
      `Dir::Etc::trustedparts "${mountedAt}/keys";`,
    );
  }
  const authorities = await readFile("/etc/ssl/certs/ca-certificates.crt").catch(() => undefined);
  if (authorities && stanzas.some((stanza) => /\bhttps:/.test(stanza.URIs))) {
    await writeFile(join(directory, "authorities.crt"), authorities);
    lines.push(`Acquire::https::CAInfo "${mountedAt}/authorities.crt";`);
  }
  await writeFile(join(directory, "apt.conf"), `${lines.join("\n")}\n`);
}

function parseDeb822(text) {
  const stanzas = [];
  for (const block of text.split(/\n\s*\n/)) {
    const stanza = {};
    let key;
    for (const line of block.split("\n")) {
      if (line.startsWith("#")) continue;
      const match = /^([A-Za-z-]+):\s*(.*)$/.exec(line);
      if (match) {
        key = match[1];
        stanza[key] = match[2].trim();
      } else if (key && /^\s+\S/.test(line)) {
        stanza[key] += `\n${line}`;
      }
    }
    if (stanza.Types && stanza.URIs && stanza.Suites) stanzas.push(stanza);
  }
  return stanzas;
}

function parseOneLine(text) {
  const stanzas = [];
  for (const line of text.split("\n")) {
    const match = /^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*([^#]*)/.exec(line.trim());
    if (!match) continue;
    const [, options = "", uri, suite, components] = match;
    const stanza = { Types: "deb", URIs: uri, Suites: suite, Components: components.trim() };
    const signedBy = /signed-by=(\S+)/.exec(options)?.[1];
    if (signedBy) stanza["Signed-By"] = signedBy;
    const trusted = /trusted=(\S+)/.exec(options)?.[1];
    if (trusted) stanza.Trusted = trusted;
    stanzas.push(stanza);
  }
  return stanzas;
}
