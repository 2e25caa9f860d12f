import { describe, expect, it } from "vitest";
import {
  belongsTo,
  formatOneLine,
  formatSources,
  isDebianLike,
  parseSources,
} from "../../../scripts/setup/apt-sources.mjs";

const deb822 = `Types: deb deb-src
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/archive.gpg

Types: deb
URIs: http://third.example/apt
Suites: cloud-bookworm
Components: main
`;

describe("the package sources a base image is made from", () => {
  it("are this release's own, never a third party's or a disabled one", () => {
    const stanzas = parseSources("/etc/apt/sources.list.d/a.sources", deb822);
    expect(stanzas.map((stanza) => belongsTo(stanza, "bookworm"))).toEqual([true, false]);
    expect(belongsTo({ ...stanzas[0], Enabled: "no" }, "bookworm")).toBe(false);
    expect(belongsTo({ ...stanzas[0], Types: "deb-src" }, "bookworm")).toBe(false);
    expect(belongsTo(stanzas[0], "")).toBe(false);
    expect(belongsTo(stanzas[0], "book")).toBe(false);
  });

  it("keep their key when they are written in the one-line form, one line for each suite", () => {
    const [stanza] = parseSources("a.sources", deb822);
    expect(formatOneLine([stanza])).toBe(
      "deb [signed-by=/usr/share/keyrings/archive.gpg] http://mirror.example/debian bookworm main\n" +
        "deb [signed-by=/usr/share/keyrings/archive.gpg] http://mirror.example/debian bookworm-updates main\n",
    );
  });

  it("are read from one-line files with options, comments and source entries", () => {
    const stanzas = parseSources(
      "/etc/apt/sources.list",
      "# deb http://off.example x main\ndeb-src http://m.example bookworm main\ndeb [arch=amd64 signed-by=/k.gpg] http://m.example bookworm main contrib # why\n",
    );
    expect(stanzas).toEqual([
      {
        Types: "deb",
        URIs: "http://m.example",
        Suites: "bookworm",
        Components: "main contrib",
        "Signed-By": "/k.gpg",
      },
    ]);
  });

  it("ask for binary packages alone when they are written as a stanza, and keep an inline key", () => {
    const inline =
      "Types: deb deb-src\nURIs: http://m.example\nSuites: sid\nSigned-By:\n -----BEGIN KEY-----\n .\n abc\n";
    const text = formatSources(parseSources("a.sources", inline));
    expect(text).toContain("Types: deb\n");
    expect(text).toContain("Signed-By: \n -----BEGIN KEY-----\n .\n abc\n");
  });

  it("come from no file that apt would ignore", () => {
    expect(parseSources("/etc/apt/sources.list.d/a.sources.save", deb822)).toEqual([]);
  });
});

describe("a machine where apt installs packages", () => {
  it("is Debian, Ubuntu, or says that it is like one of them", () => {
    expect(isDebianLike({ id: "debian", like: "", codename: "bookworm" })).toBe(true);
    expect(isDebianLike({ id: "linuxmint", like: "ubuntu debian", codename: "x" })).toBe(true);
    expect(isDebianLike({ id: "fedora", like: "", codename: "" })).toBe(false);
  });
});
