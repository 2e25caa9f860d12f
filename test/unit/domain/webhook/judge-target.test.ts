import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { judgeTarget, type TargetRules } from "../../../../src/domain/webhook/judge-target.js";

const STRICT: TargetRules = { allowHttp: false, ports: [443, 8443], allowAddresses: [] };
const LAX: TargetRules = { allowHttp: true, ports: [80, 443], allowAddresses: [] };
const codeOf = (url: string, rules = STRICT) => {
  const verdict = judgeTarget(url, rules);
  return verdict.ok ? "ok" : verdict.code;
};

describe("the URL of a webhook", () => {
  it("is taken apart into what is connected to", () => {
    expect(judgeTarget("https://Example.COM:8443/a/b?c=d", STRICT)).toEqual({
      ok: true,
      target: { protocol: "https:", host: "example.com", isAddress: false, port: 8443, path: "/a/b?c=d" },
    });
    expect(judgeTarget("http://[2606:4700::1]/", LAX)).toMatchObject({
      ok: true,
      target: { host: "2606:4700::1", isAddress: true, port: 80 },
    });
  });

  it.each([
    ["http://example.com/", "url_scheme"],
    ["ftp://example.com/", "url_scheme"],
    ["file:///etc/passwd", "url_scheme"],
    ["gopher://127.0.0.1:6379/_x", "url_scheme"],
    ["https://user@example.com/", "url_credentials"],
    ["https://user:pw@example.com/", "url_credentials"],
    ["https://example.com/#x", "url_fragment"],
    ["https://example.com:22/", "url_port"],
    ["https://example.com:6379/", "url_port"],
    ["https://example.com:0/", "url_port"],
    ["example.com", "url_invalid"],
    ["/hook", "url_invalid"],
    ["", "url_invalid"],
    ["https://", "url_invalid"],
    ["https://exa mple.com/", "url_invalid"],
    ["https://example.com/\n", "url_invalid"],
    ["https://ex\u00e4mple.com/", "url_invalid"],
    [`https://example.com/${"x".repeat(2_048)}`, "url_too_long"],
  ])("is refused: %s", (url, code) => expect(codeOf(url)).toBe(code));

  it.each([
    ["http://169.254.169.254/", "address_metadata"],
    ["http://[::ffff:127.0.0.1]/", "address_loopback"],
    ["http://[::ffff:a9fe:a9fe]/", "address_metadata"],
    ["http://2130706433/", "address_loopback"],
    ["http://0x7f000001/", "address_loopback"],
    ["http://0177.0.0.1/", "address_loopback"],
    ["http://127.1/", "address_loopback"],
    ["http://127.0.0.1./", "address_loopback"],
    ["http://%31%32%37.0.0.1/", "address_loopback"],
    ["http://0/", "address_unspecified"],
    ["http://[::]/", "address_unspecified"],
    ["http://[::1]/", "address_loopback"],
    ["http://[fd00:ec2::254]/", "address_metadata"],
    ["http://[64:ff9b::10.0.0.1]/", "address_private"],
    ["http://10.0.0.5/", "address_private"],
  ])("is refused for its address, however written: %s (FB-53)", (url, code) => {
    expect(codeOf(url, LAX)).toBe(code);
  });

  it("may hold a loopback address that is allowed by name", () => {
    expect(codeOf("http://127.0.0.1/", { ...LAX, allowAddresses: ["127.0.0.1"] })).toBe("ok");
    expect(codeOf("http://127.0.0.2/", { ...LAX, allowAddresses: ["127.0.0.1"] })).toBe("address_loopback");
  });

  it("never makes it throw, and is never quoted", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.webUrl({ withFragments: true, withQueryParameters: true })),
        (url) => {
          const verdict = judgeTarget(url, STRICT);
          if (!verdict.ok && url.length > 12) expect(verdict.message).not.toContain(url);
        },
      ),
    );
  });
});
