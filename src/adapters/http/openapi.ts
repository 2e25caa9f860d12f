import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from "fastify-type-provider-zod";
import { z } from "zod";
import { commandPageSchema, commandSchema, commandSummarySchema } from "../../contract/commands.js";
import { decisionSchema } from "../../contract/decisions.js";
import { healthSchema, readinessSchema } from "../../contract/health.js";
import { explanationSchema, policySchema } from "../../contract/policy.js";
import { problemSchema } from "../../contract/problems.js";
import { sessionPageSchema, sessionSchema } from "../../contract/sessions.js";
import { workspaceSchema } from "../../contract/workspaces.js";
import type { HttpScope } from "./http-deps.js";

const COMPONENTS = {
  Command: commandSchema,
  CommandSummary: commandSummarySchema,
  CommandPage: commandPageSchema,
  Decision: decisionSchema,
  Explanation: explanationSchema,
  Health: healthSchema,
  Policy: policySchema,
  Problem: problemSchema,
  Readiness: readinessSchema,
  Session: sessionSchema,
  SessionPage: sessionPageSchema,
  Workspace: workspaceSchema,
};

/** Collects the OpenAPI document from the routes' own schemas. Must be registered before the routes. */
export async function registerOpenapi(app: HttpScope, version: string): Promise<void> {
  // A registry of its own: zod's global one would refuse the same names for a second app.
  const schemaRegistry = z.registry<{ id?: string }>();
  for (const [id, schema] of Object.entries(COMPONENTS)) schemaRegistry.add(schema, { ...schema.meta(), id });
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
        { name: "sessions", description: "One agent process: where it works and under which authority." },
        { name: "workspaces", description: "Directories that belong to one tenant." },
        { name: "policy", description: "What is allowed, and why." },
        { name: "service", description: "Health and metrics." },
      ],
      components: {
        securitySchemes: {
          bearer: { type: "http", scheme: "bearer", description: "An API key, or a JWT where configured." },
        },
      },
    },
    transform: createJsonSchemaTransform({ schemaRegistry }),
    transformObject: createJsonSchemaTransformObject({ schemaRegistry }),
  });
}

/** Serves the document at `/openapi.json` and as a page at `/docs`, from this process's own files. */
export async function registerDocs(app: HttpScope): Promise<void> {
  app.get("/openapi.json", { schema: { hide: true } }, async (_request, reply) =>
    reply.type("application/json").send(app.swagger()),
  );
  await app.register(swaggerUi, {
    routePrefix: "/docs",
    uiConfig: { deepLinking: true, tryItOutEnabled: false, persistAuthorization: false },
    staticCSP:
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'; " +
      "font-src 'self' data:; img-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline'",
  });
}
