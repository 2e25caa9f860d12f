import { z } from "zod";

/** `GET /v1/principal`. */
export const principalSchema = z
  .strictObject({
    principal_id: z.string(),
    tenant: z.string(),
    scopes: z.array(z.string()).meta({ description: "`admin` implies the others within the tenant." }),
  })
  .meta({ id: "Principal" });

/** The caller on the wire. */
export type PrincipalWire = z.output<typeof principalSchema>;

/** Maps the caller; the scopes in the order of the alphabet. */
export function principalToWire(principal: {
  readonly id: string;
  readonly tenant: string;
  readonly scopes: ReadonlySet<string>;
}): PrincipalWire {
  return { principal_id: principal.id, tenant: principal.tenant, scopes: [...principal.scopes].sort() };
}
