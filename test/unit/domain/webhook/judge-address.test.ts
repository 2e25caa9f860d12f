import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAddressBlock, judgeAddress } from "../../../../src/domain/webhook/judge-address.js";

const PUBLIC = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.0",
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.0.1.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "223.255.255.255",
  "2606:4700:4700::1111",
  "2001:4860:4860::8888",
  "2a00:1450:4001::1",
  "::ffff:8.8.8.8",
  "::ffff:808:808",
  "64:ff9b::8.8.8.8",
];

const BLOCKED: readonly [string, string][] = [
  ["0.0.0.0", "unspecified"],
  ["0.1.2.3", "unspecified"],
  ["127.0.0.1", "loopback"],
  ["127.255.255.255", "loopback"],
  ["10.0.0.0", "private"],
  ["10.255.255.255", "private"],
  ["172.16.0.0", "private"],
  ["172.31.255.255", "private"],
  ["192.168.0.1", "private"],
  ["169.254.0.1", "link_local"],
  ["169.254.169.254", "metadata"],
  ["169.254.170.2", "metadata"],
  ["100.100.100.200", "metadata"],
  ["192.0.0.192", "metadata"],
  ["168.63.129.16", "metadata"],
  ["100.64.0.0", "shared"],
  ["100.127.255.255", "shared"],
  ["192.0.0.8", "reserved"],
  ["192.0.2.1", "documentation"],
  ["198.51.100.1", "documentation"],
  ["203.0.113.1", "documentation"],
  ["198.18.0.1", "benchmarking"],
  ["198.19.255.255", "benchmarking"],
  ["192.88.99.1", "transition"],
  ["224.0.0.1", "multicast"],
  ["239.255.255.255", "multicast"],
  ["240.0.0.1", "reserved"],
  ["255.255.255.255", "reserved"],
  ["::", "unspecified"],
  ["::1", "loopback"],
  ["0:0:0:0:0:0:0:1", "loopback"],
  ["fc00::1", "private"],
  ["fdff:ffff::1", "private"],
  ["fd00:ec2::254", "metadata"],
  ["fd20:ce::254", "metadata"],
  ["fe80::1", "link_local"],
  ["febf::1", "link_local"],
  ["fec0::1", "private"],
  ["ff02::1", "multicast"],
  ["2001:db8::1", "documentation"],
  ["3fff:fff::1", "documentation"],
  ["2001::1", "transition"],
  ["2002:7f00:1::", "transition"],
  ["2002:808:808::", "transition"],
  ["::127.0.0.1", "transition"],
  ["::8.8.8.8", "transition"],
  ["::ffff:0:7f00:1", "transition"],
  ["64:ff9b:1::7f00:1", "transition"],
  ["::ffff:127.0.0.1", "loopback"],
  ["::ffff:7f00:1", "loopback"],
  ["::ffff:169.254.169.254", "metadata"],
  ["::ffff:10.0.0.1", "private"],
  ["64:ff9b::127.0.0.1", "loopback"],
  ["64:ff9b::a9fe:a9fe", "metadata"],
  ["100::1", "not_global"],
  ["4000::1", "not_global"],
  ["5f00::1", "not_global"],
  ["fe80::1%eth0", "not_an_address"],
  ["", "not_an_address"],
  ["localhost", "not_an_address"],
  ["127.1", "not_an_address"],
  ["2130706433", "not_an_address"],
  ["0x7f.0.0.1", "not_an_address"],
  ["127.0.0.1 ", "not_an_address"],
  ["[::1]", "not_an_address"],
  ["8.8.8.8/8", "not_an_address"],
  ["::ffff:8.8.8.8.8", "not_an_address"],
];

describe("an address that a webhook may connect to", () => {
  it.each(PUBLIC)("%s is public", (address) => expect(judgeAddress(address)).toBeNull());

  it.each(BLOCKED)("%s is refused as %s (FB-53)", (address, fault) => {
    expect(judgeAddress(address)).toBe(fault);
  });

  it("is judged by what is inside, in every form that holds an IPv4 address", () => {
    fc.assert(
      fc.property(fc.ipV4(), (ipv4) => {
        const hex = ipv4
          .split(".")
          .map((part) => Number(part).toString(16).padStart(2, "0"))
          .join("")
          .replace(/^(....)/, "$1:");
        const verdict = judgeAddress(ipv4);
        for (const form of [`::ffff:${ipv4}`, `::ffff:${hex}`, `0:0:0:0:0:ffff:${hex}`, `64:ff9b::${hex}`]) {
          expect(judgeAddress(form), form).toBe(verdict);
        }
        expect(judgeAddress(`2002:${hex}::1`)).toBe("transition");
        expect(judgeAddress(`::${ipv4}`)).not.toBeNull();
      }),
    );
  });

  it("is never one of a block that reaches nobody outside, wherever in the block", () => {
    fc.assert(
      fc.property(fc.constantFrom(0, 10, 127, 224, 239, 240, 255), fc.nat(0xffffff), (first, rest) => {
        const address = [first, rest >> 16, (rest >> 8) & 255, rest & 255].join(".");
        expect(judgeAddress(address)).not.toBeNull();
      }),
    );
    const group = fc.nat(0xffff).map((number) => number.toString(16));
    fc.assert(
      fc.property(
        // Everything whose first group is outside 2000::/3, but for what may hold an IPv4 address.
        fc.oneof(fc.integer({ min: 0x65, max: 0x1fff }), fc.integer({ min: 0x4000, max: 0xffff })),
        fc.array(group, { minLength: 7, maxLength: 7 }),
        (first, rest) => {
          expect(judgeAddress([first.toString(16), ...rest].join(":"))).not.toBeNull();
        },
      ),
    );
  });

  it("never makes it throw, whatever the text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4Extended(), fc.ipV6()), (text) => {
        judgeAddress(text, [text]);
      }),
    );
  });
});

describe("the allow-list", () => {
  it("lets through exactly what it names", () => {
    expect(judgeAddress("127.0.0.1", ["127.0.0.1"])).toBeNull();
    expect(judgeAddress("127.0.0.2", ["127.0.0.1"])).toBe("loopback");
    expect(judgeAddress("10.1.255.255", ["10.1.0.0/16"])).toBeNull();
    expect(judgeAddress("10.2.0.0", ["10.1.0.0/16"])).toBe("private");
    expect(judgeAddress("fd00::5", ["fd00::/64"])).toBeNull();
    expect(judgeAddress("fd00:0:0:1::5", ["fd00::/64"])).toBe("private");
    expect(judgeAddress("::ffff:10.1.2.3", ["10.1.0.0/16"])).toBeNull();
    expect(judgeAddress("::1", ["127.0.0.0/8"])).toBe("loopback");
    expect(judgeAddress("10.0.0.1", ["nonsense", "10.0.0.1/33"])).toBe("private");
  });

  it.each(["10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "fd00::/8", "::1"])("takes %s", (text) =>
    expect(isAddressBlock(text)).toBe(true),
  );
  it.each(["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "10/8", "fd00::/129", "host", "1.1.1.1/08"])(
    "does not take %j",
    (text) => expect(isAddressBlock(text)).toBe(false),
  );
});
