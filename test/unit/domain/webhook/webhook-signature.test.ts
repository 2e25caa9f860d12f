import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { signDelivery, webhookSecret } from "../../../../src/domain/webhook/webhook-signature.js";

const DEPLOYMENT = "0123456789abcdef0123456789abcdef";

describe("the secret of a session's webhook", () => {
  it("is the same for ever, and another for each session and each deployment", () => {
    expect(webhookSecret(DEPLOYMENT, "ses_1")).toBe(webhookSecret(DEPLOYMENT, "ses_1"));
    const others = [webhookSecret(DEPLOYMENT, "ses_2"), webhookSecret(`${DEPLOYMENT}x`, "ses_1")];
    expect(new Set([webhookSecret(DEPLOYMENT, "ses_1"), ...others]).size).toBe(3);
    expect(webhookSecret(DEPLOYMENT, "ses_1")).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/);
  });
});

describe("the signature of a delivery", () => {
  it("is HMAC-SHA256 over time, dot and body, in UTF-8 (FB-53)", () => {
    const body = '{"stdout":"\u00e9\u{1F600}"}';
    const expected = createHmac("sha256", "whsec_x")
      .update(Buffer.from(`1700000000.${body}`))
      .digest("hex");
    expect(signDelivery("whsec_x", 1_700_000_000, body)).toBe(`t=1700000000,v1=${expected}`);
  });
});
