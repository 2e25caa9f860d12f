import { judgeAddress } from "./judge-address.js";

/** Where webhooks may go. */
export interface TargetRules {
  readonly allowHttp: boolean;
  readonly ports: readonly number[];
  /** Addresses and CIDR blocks that may be reached though they are not public. */
  readonly allowAddresses: readonly string[];
}

/** A webhook's URL, taken apart and found fit, but for the addresses its name stands for. */
export interface WebhookTarget {
  readonly protocol: "https:" | "http:";
  /** Without brackets. */
  readonly host: string;
  /** True where `host` is an address, which then has been judged. */
  readonly isAddress: boolean;
  readonly port: number;
  /** Path and query. */
  readonly path: string;
}

/** Longer URLs are refused. */
export const MAX_URL_BYTES = 2_048;

/** The answer to a URL; `code` is stable, `message` says what to change and quotes nothing. */
export type TargetVerdict =
  | { readonly ok: true; readonly target: WebhookTarget }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** Judges a webhook's URL by its text alone, also an address in any of the notations that URLs have for one. */
export function judgeTarget(text: string, rules: TargetRules): TargetVerdict {
  if (Buffer.byteLength(text) > MAX_URL_BYTES)
    return refused("url_too_long", `must be at most ${MAX_URL_BYTES} bytes`);
  // The parser drops tabs, line ends and outer blanks: such a URL would not be the one that was read.
  if (!/^[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) {
    return refused("url_invalid", "must be an absolute URL in visible ASCII");
  }
  const url = new URL(text);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && rules.allowHttp)) {
    return refused("url_scheme", rules.allowHttp ? "must be an https or http URL" : "must be an https URL");
  }
  if (url.username !== "" || url.password !== "")
    return refused("url_credentials", "must not hold credentials");
  if (url.hash !== "") return refused("url_fragment", "must not have a fragment");
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  if (!rules.ports.includes(port))
    return refused("url_port", `must use one of the ports ${rules.ports.join(", ")}`);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (host === "") return refused("url_invalid", "must name a host");
  // After parsing, a host that is an address ends in a number or holds a colon, and no other does.
  const isAddress = host.includes(":") || /^\d+\.\d+\.\d+\.\d+$/.test(host);
  const fault = isAddress ? judgeAddress(host, rules.allowAddresses) : null;
  if (fault !== null) {
    return refused(
      `address_${fault}`,
      `must not lead to an address of this kind: ${fault.replaceAll("_", " ")}`,
    );
  }
  return {
    ok: true,
    target: {
      protocol: url.protocol === "https:" ? "https:" : "http:",
      host,
      isAddress,
      port,
      path: `${url.pathname}${url.search}`,
    },
  };
}

function refused(code: string, message: string): TargetVerdict {
  return { ok: false, code, message };
}
