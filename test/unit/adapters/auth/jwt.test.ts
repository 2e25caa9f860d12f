import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  type GenerateKeyPairResult,
  generateKeyPair,
  importJWK,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBearerAuthenticator } from "../../../../src/adapters/auth/bearer-authenticator.js";
import { createJwtAuthenticator, type JwtSettings } from "../../../../src/adapters/auth/jwt.js";
import type { Authenticator } from "../../../../src/ports/authenticator.js";

const NOW_S = Date.UTC(2030, 0, 1) / 1000;
const CLAIMS = {
  iss: "https://issuer",
  aud: "bailiff",
  sub: "agent-7",
  tenant: "acme",
  exp: NOW_S + 60,
  scope: "commands:write nonsense",
};
const clock = { nowMs: () => NOW_S * 1000 };

let server: Server;
let jwksUrl: string;
let fetches = 0;
let broken = false;
let jwks: unknown;
let mine: GenerateKeyPairResult;
let stranger: GenerateKeyPairResult;
let auth: Authenticator;

function settings(more: Partial<JwtSettings> = {}): JwtSettings {
  return {
    issuer: "https://issuer",
    audience: "bailiff",
    jwksUrl,
    jwksFile: null,
    algorithms: ["RS256"],
    tenantClaim: "tenant",
    scopeClaim: "scope",
    ...more,
  };
}

function sign(
  claims: JWTPayload,
  by: CryptoKey = mine.privateKey,
  header: Record<string, unknown> = {},
): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "k1", ...header }).sign(by);
}

beforeAll(async () => {
  mine = await generateKeyPair("RS256", { extractable: true });
  stranger = await generateKeyPair("RS256", { extractable: true });
  jwks = { keys: [{ ...(await exportJWK(mine.publicKey)), kid: "k1", use: "sig" }] };
  server = createServer((_, response) => {
    fetches += 1;
    response.writeHead(broken ? 500 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(jwks));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  auth = await createJwtAuthenticator({ settings: settings(), clock });
});

afterAll(() => new Promise<unknown>((resolve) => server.close(resolve)));

describe("a token of the issuer", () => {
  it("is a principal of its tenant; scopes it doesn't know are ignored", async () => {
    expect(await auth.authenticate(await sign(CLAIMS))).toEqual({
      id: "agent-7",
      tenant: "acme",
      scopes: new Set(["commands:write"]),
      method: "jwt",
    });
  });

  it("may list its scopes, or have none", async () => {
    const listed = await auth.authenticate(await sign({ ...CLAIMS, scope: ["policy:read", 7, "x"] }));
    expect(listed?.scopes).toEqual(new Set(["policy:read"]));
    const { scope: _, ...without } = CLAIMS;
    expect((await auth.authenticate(await sign(without)))?.scopes).toEqual(new Set());
  });

  it("makes one fetch of the keys for many tokens", async () => {
    const before = fetches;
    for (let i = 0; i < 20; i += 1) await auth.authenticate(await sign({ ...CLAIMS, jti: String(i) }));
    for (let i = 0; i < 20; i += 1)
      await auth.authenticate(await sign(CLAIMS, stranger.privateKey, { kid: `made-up-${i}` }));
    expect(fetches - before).toBeLessThanOrEqual(1);
  });

  it("is taken from a key set in a file too", async () => {
    const directory = await mkdtemp(join(tmpdir(), "bailiff-jwks-"));
    try {
      const jwksFile = join(directory, "jwks.json");
      await writeFile(jwksFile, JSON.stringify(jwks));
      const local = await createJwtAuthenticator({ settings: settings({ jwksUrl: null, jwksFile }), clock });
      expect((await local.authenticate(await sign(CLAIMS)))?.tenant).toBe("acme");
      expect(await local.authenticate(await sign(CLAIMS, stranger.privateKey))).toBeNull();
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe("a token is refused", () => {
  const without = (name: string) =>
    Object.fromEntries(Object.entries(CLAIMS).filter(([key]) => key !== name));

  it.each([
    ["of another issuer", { ...CLAIMS, iss: "https://evil" }],
    ["for another audience", { ...CLAIMS, aud: "other" }],
    ["that has expired", { ...CLAIMS, exp: NOW_S - 60 }],
    ["that is not valid yet", { ...CLAIMS, nbf: NOW_S + 3600 }],
    ["without an end", without("exp")],
    ["without a subject", without("sub")],
    ["without an issuer", without("iss")],
    ["without an audience", without("aud")],
    ["without a tenant", without("tenant")],
    ["with a tenant that is a path", { ...CLAIMS, tenant: "../acme" }],
    ["with a tenant that is no text", { ...CLAIMS, tenant: ["acme"] }],
    ["with control characters in its subject", { ...CLAIMS, sub: "a\nb" }],
  ])("%s", async (_, claims) => {
    expect(await auth.authenticate(await sign(claims))).toBeNull();
  });

  it("signed by a stranger under our key's id", async () => {
    expect(await auth.authenticate(await sign(CLAIMS, stranger.privateKey))).toBeNull();
  });

  it("that carries its own key", async () => {
    const jwk = await exportJWK(stranger.publicKey);
    expect(await auth.authenticate(await sign(CLAIMS, stranger.privateKey, { jwk }))).toBeNull();
  });

  it("with the algorithm none", async () => {
    const text = new UnsecuredJWT(CLAIMS).encode();
    expect(await auth.authenticate(text)).toBeNull();
    const [, body] = text.split(".");
    for (const alg of ["none", "None", "NONE"]) {
      const header = Buffer.from(JSON.stringify({ alg, kid: "k1" })).toString("base64url");
      expect(await auth.authenticate(`${header}.${body}.`)).toBeNull();
    }
  });

  it("with our public key as an HMAC secret", async () => {
    for (const secret of [
      await exportSPKI(mine.publicKey),
      JSON.stringify(await exportJWK(mine.publicKey)),
    ]) {
      const text = await new SignJWT(CLAIMS)
        .setProtectedHeader({ alg: "HS256", kid: "k1" })
        .sign(Buffer.from(secret));
      expect(await auth.authenticate(text)).toBeNull();
    }
  });

  it("with an algorithm that is not in the list", async () => {
    const text = await new SignJWT(CLAIMS)
      .setProtectedHeader({ alg: "RS512", kid: "k1" })
      .sign(await importAs("RS512"));
    expect(await auth.authenticate(text)).toBeNull();
  });

  it("with any part changed", async () => {
    const text = await sign(CLAIMS);
    // Not the last character: some of its bits decode to nothing.
    for (let at = 0; at < text.length - 1; at += 7) {
      const changed = `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
      expect(await auth.authenticate(changed)).toBeNull();
    }
    for (const shape of ["", ".", "..", "a.b.c", "...", `${text}.x`, text.slice(0, -1)]) {
      expect(await auth.authenticate(shape)).toBeNull();
    }
  });
});

async function importAs(alg: string): Promise<CryptoKey> {
  return (await importJWK({ ...(await exportJWK(mine.privateKey)), alg }, alg)) as CryptoKey;
}

describe("the issuer's key server", () => {
  it("that fails is no verdict on the token", async () => {
    const fresh = await createJwtAuthenticator({ settings: settings(), clock });
    broken = true;
    try {
      await expect(fresh.authenticate(await sign(CLAIMS))).rejects.toMatchObject({ code: "not_ready" });
    } finally {
      broken = false;
    }
  });

  it.each(["none", "HS256", "hs512"])("can't be set up with %s", async (algorithm) => {
    await expect(
      createJwtAuthenticator({ settings: settings({ algorithms: [algorithm] }), clock }),
    ).rejects.toThrow();
  });
});

describe("a bearer", () => {
  const seen: string[] = [];
  const part = (name: string): Authenticator => ({
    authenticate: async () => {
      seen.push(name);
      return null;
    },
  });

  it.each([
    ["blf_x", ["apiKeys"]],
    ["blf_a.b.c", ["apiKeys"]],
    ["a.b.c", ["jwt"]],
    ["ab", []],
    ["", []],
    [`${"a".repeat(16_384)}.b.c`, []],
  ])("like %.12s is shown to the part it is for", async (bearer, parts) => {
    seen.length = 0;
    await createBearerAuthenticator({ apiKeys: part("apiKeys"), jwt: part("jwt") }).authenticate(bearer);
    expect(seen).toEqual(parts);
  });

  it("that is a token is nobody where tokens are not configured", async () => {
    seen.length = 0;
    expect(
      await createBearerAuthenticator({ apiKeys: part("apiKeys"), jwt: null }).authenticate("a.b.c"),
    ).toBeNull();
    expect(seen).toEqual([]);
  });
});
