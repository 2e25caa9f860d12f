import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from "fastify-type-provider-zod";
import type { HttpScope } from "./http-deps.js";

type TransformConfig = NonNullable<Parameters<typeof createJsonSchemaTransform>[0]["zodToJsonConfig"]>;

/** zod bounds every integer by what a double holds; in the document that only hides the bounds that matter. */
const zodToJsonConfig: TransformConfig = {
  override({ zodSchema, jsonSchema }) {
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    if (jsonSchema.format === "date-time") delete jsonSchema.pattern;
    // An answer without a body.
    if (zodSchema._zod.def.type === "undefined") jsonSchema.type = "null";
  },
};

const toDocument = createJsonSchemaTransformObject({ zodToJsonConfig });

/** Collects the OpenAPI document from the routes' own schemas. Must be registered before the routes. */
export async function registerOpenapi(app: HttpScope, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Bailiff",
        version,
        description: "Runs an argv vector in a single-use container, under host policy, at most once.",
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      tags: [
        { name: "commands", description: "Submit, wait, look, cancel." },
        { name: "approvals", description: "What waits for a person, and the person's word." },
        { name: "sessions", description: "One agent process: where it works and under which authority." },
        { name: "workspaces", description: "Directories that belong to one tenant." },
        { name: "policy", description: "What is allowed, and why." },
        { name: "evidence", description: "What happened, so that it can be verified." },
        { name: "service", description: "Health, metrics, workers and queues." },
      ],
      components: {
        securitySchemes: {
          bearer: { type: "http", scheme: "bearer", description: "An API key, or a JWT where configured." },
        },
      },
    },
    transform: createJsonSchemaTransform({ zodToJsonConfig }),
    transformObject: (document) => withoutInputs(toDocument(document)),
  });
}

/** The converter writes each component as an input too. No request body is a component, so nothing refers to those. */
function withoutInputs<T extends object>(document: T): T {
  const schemas =
    "components" in document
      ? (document.components as { schemas?: Record<string, unknown> }).schemas
      : undefined;
  for (const name of Object.keys(schemas ?? {})) if (name.endsWith("Input")) delete schemas?.[name];
  return document;
}

/** Serves the document at `/openapi.json` and as a page at `/docs`, from this process's own files. */
export async function registerDocs(app: HttpScope): Promise<void> {
  app.get("/openapi.json", { schema: { hide: true } }, async (_request, reply) =>
    reply.type("application/json").send(app.swagger()),
  );
  await app.register(swaggerUi, {
    routePrefix: "/docs",
    theme: { title: "Bailiff API" },
    uiConfig: { layout: "BaseLayout", deepLinking: true, persistAuthorization: false },
    staticCSP:
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'; " +
      "font-src 'self' data:; img-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline'",
  });
}
