import { readFile } from "node:fs/promises";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { BailiffError } from "../../domain/errors.js";
import { isName } from "../../domain/ids.js";
import { type Authenticator, type Principal, SCOPES, type Scope } from "../../ports/authenticator.js";
import type { Clock } from "../../ports/clock.js";
import { principalSchema } from "./api-key.js";

const FETCH_TIMEOUT_MS = 5_000;
/** Least time between two fetches, so that tokens with made-up key ids can't make us hammer the issuer. */
const COOLDOWN_MS = 30_000;
const CACHE_MAX_AGE_MS = 10 * 60_000;
const CLOCK_TOLERANCE_S = 5;

/** Which tokens are taken. Exactly one of `jwksUrl` and `jwksFile` is set. */
export interface JwtSettings {
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUrl: string | null;
  readonly jwksFile: string | null;
  /** Asymmetric algorithms only. */
  readonly algorithms: readonly string[];
  readonly tenantClaim: string;
  readonly scopeClaim: string;
}

const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);

/** The scopes of a claim in either usual form: one text with spaces, or a list. Unknown ones are ignored. */
function scopesOf(claim: unknown): ReadonlySet<Scope> {
  const listed = typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim : [];
  return new Set(listed.filter((entry): entry is Scope => typeof entry === "string" && isScope(entry)));
}

function principalOf(payload: JWTPayload, settings: JwtSettings): Principal | null {
  const tenant = Object.hasOwn(payload, settings.tenantClaim) ? payload[settings.tenantClaim] : undefined;
  if (typeof tenant !== "string" || !isName(tenant)) return null;
  const id = principalSchema.safeParse(payload.sub);
  if (!id.success) return null;
  const scopes = Object.hasOwn(payload, settings.scopeClaim) ? payload[settings.scopeClaim] : undefined;
  return { id: id.data, tenant, scopes: scopesOf(scopes), method: "jwt" };
}

async function keySetOf(settings: JwtSettings): Promise<JWTVerifyGetKey> {
  if (settings.jwksFile !== null) {
    return createLocalJWKSet(JSON.parse(await readFile(settings.jwksFile, "utf8")));
  }
  if (settings.jwksUrl === null) throw new Error("a token issuer needs a key set");
  return createRemoteJWKSet(new URL(settings.jwksUrl), {
    timeoutDuration: FETCH_TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: CACHE_MAX_AGE_MS,
  });
}

/** Faults that say the token is bad. Everything else says that the key set could not be had. */
function isTokenFault(error: unknown): boolean {
  return (
    error instanceof errors.JWTClaimValidationFailed ||
    error instanceof errors.JWTExpired ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JOSENotSupported ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys
  );
}

/**
 * Tokens of one issuer. `exp`, `sub` and the tenant claim are required. Throws BailiffError `not_ready` where the
 * issuer's keys can't be fetched: that is no verdict on the token.
 */
export async function createJwtAuthenticator(deps: {
  readonly settings: JwtSettings;
  readonly clock: Clock;
}): Promise<Authenticator> {
  const { settings } = deps;
  // SAFETY: the configuration allows none of these, but a public key used as an HMAC secret would let anyone in.
  if (settings.algorithms.length === 0 || settings.algorithms.some((name) => /^(?:none|HS)/i.test(name))) {
    throw new Error("only asymmetric signature algorithms can be accepted");
  }
  const keySet = await keySetOf(settings);
  return {
    async authenticate(bearer) {
      try {
        const { payload } = await jwtVerify(bearer, keySet, {
          issuer: settings.issuer,
          audience: settings.audience,
          algorithms: [...settings.algorithms],
          requiredClaims: ["exp", "sub"],
          clockTolerance: CLOCK_TOLERANCE_S,
          currentDate: new Date(deps.clock.nowMs()),
        });
        return principalOf(payload, settings);
      } catch (error) {
        if (isTokenFault(error)) return null;
        throw new BailiffError("not_ready", "the token issuer's keys can't be fetched", { cause: error });
      }
    },
  };
}
