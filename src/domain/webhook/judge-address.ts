import ipaddr from "ipaddr.js";

/** Why an address is not one that a webhook may reach. */
export type AddressFault =
  | "not_an_address"
  | "unspecified"
  | "loopback"
  | "private"
  | "link_local"
  | "metadata"
  | "shared"
  | "multicast"
  | "reserved"
  | "documentation"
  | "benchmarking"
  | "transition"
  | "not_global";

type Row = readonly [cidr: string, fault: AddressFault];

/** First match counts. From the registries of special-purpose addresses, and what clouds answer credentials on. */
const IPV4_BLOCKED: readonly Row[] = [
  ["169.254.169.254/32", "metadata"],
  ["169.254.170.2/32", "metadata"],
  ["100.100.100.200/32", "metadata"],
  ["192.0.0.192/32", "metadata"],
  // A public address on which one cloud serves its virtual machines alone.
  ["168.63.129.16/32", "metadata"],
  ["0.0.0.0/8", "unspecified"],
  ["127.0.0.0/8", "loopback"],
  ["10.0.0.0/8", "private"],
  ["172.16.0.0/12", "private"],
  ["192.168.0.0/16", "private"],
  ["169.254.0.0/16", "link_local"],
  ["100.64.0.0/10", "shared"],
  ["192.0.0.0/24", "reserved"],
  ["192.0.2.0/24", "documentation"],
  ["198.51.100.0/24", "documentation"],
  ["203.0.113.0/24", "documentation"],
  ["192.88.99.0/24", "transition"],
  ["198.18.0.0/15", "benchmarking"],
  ["224.0.0.0/4", "multicast"],
  ["240.0.0.0/4", "reserved"],
];

/** In front of the rule that only 2000::/3 is global. */
const IPV6_BLOCKED: readonly Row[] = [
  ["fd00:ec2::254/128", "metadata"],
  ["fd20:ce::254/128", "metadata"],
  ["::/128", "unspecified"],
  ["::1/128", "loopback"],
  ["fc00::/7", "private"],
  ["fec0::/10", "private"],
  ["fe80::/10", "link_local"],
  ["ff00::/8", "multicast"],
  // IPv4-compatible and -translated, local NAT64, Teredo with its neighbours, 6to4: each leads to an IPv4 address unseen.
  ["::/96", "transition"],
  ["::ffff:0:0:0/96", "transition"],
  ["64:ff9b:1::/48", "transition"],
  ["2001::/23", "transition"],
  ["2002::/16", "transition"],
  ["2001:db8::/32", "documentation"],
  ["3fff::/20", "documentation"],
];
const IPV6_GLOBAL = "2000::/3";
const IPV4_MAPPED = "::ffff:0:0/96";
const NAT64 = "64:ff9b::/96";

/** Whether text is an address or a block in CIDR form, as the allow-list takes it. */
export function isAddressBlock(text: string): boolean {
  return blockOf(text) !== null;
}

/** Null where a webhook may connect to this address, else why not. What can't be read is refused. */
export function judgeAddress(text: string, allowed: readonly string[] = []): AddressFault | null {
  const address = parse(text);
  if (address === null) return "not_an_address";
  if (allowed.some((block) => isInside(address, block))) return null;
  if (address instanceof ipaddr.IPv4) return firstFault(address, IPV4_BLOCKED);
  // The connection goes to the address inside: as it is judged, so is this.
  if (isInside(address, IPV4_MAPPED) || isInside(address, NAT64)) {
    return judgeAddress(embeddedIpv4(address), allowed);
  }
  return firstFault(address, IPV6_BLOCKED) ?? (isInside(address, IPV6_GLOBAL) ? null : "not_global");
}

/** Only the canonical notations: four decimal parts, or IPv6 without a zone. */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!/^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*$/.test(text) || !URL.canParse(`http://[${text}]/`)) return null;
  // SAFETY: the library takes `::8.8.8.8` for `::ffff:8.8.8.8`, which is another address. URLs have one reading, in hex.
  const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  return ipaddr.IPv6.isValid(canonical) ? ipaddr.IPv6.parse(canonical) : null;
}

function blockOf(text: string): readonly [ipaddr.IPv4 | ipaddr.IPv6, number] | null {
  const [address = "", bits, ...rest] = text.split("/");
  const parsed = parse(address);
  if (parsed === null || rest.length > 0) return null;
  const width = parsed instanceof ipaddr.IPv4 ? 32 : 128;
  if (bits === undefined) return [parsed, width];
  return /^(?:0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= width ? [parsed, Number(bits)] : null;
}

function isInside(address: ipaddr.IPv4 | ipaddr.IPv6, block: string): boolean {
  const range = blockOf(block);
  if (range === null || range[0].kind() !== address.kind()) return false;
  const mask = range[1];
  const own = address.toByteArray();
  return range[0].toByteArray().every((byte, index) => {
    const shift = 8 - Math.min(8, Math.max(0, mask - index * 8));
    return byte >> shift === (own[index] ?? 0) >> shift;
  });
}

function firstFault(address: ipaddr.IPv4 | ipaddr.IPv6, rows: readonly Row[]): AddressFault | null {
  return rows.find(([block]) => isInside(address, block))?.[1] ?? null;
}

function embeddedIpv4(address: ipaddr.IPv6): string {
  return address.toByteArray().slice(12).join(".");
}
