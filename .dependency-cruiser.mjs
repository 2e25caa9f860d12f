/** Who may import whom. Adapters know nothing of each other, decisions know nothing of the world. */

/** One library in one folder: its replacement then touches that folder alone. */
function onlyIn(name, library, folder) {
  return {
    name,
    severity: "error",
    comment: `${library} belongs to ${folder}`,
    from: { path: "^src/", pathNot: folder },
    to: { path: `(^|/)node_modules/(${library})/` },
  };
}

export default {
  forbidden: [
    { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
    {
      name: "no-orphans",
      severity: "error",
      comment: "A module that nothing imports and that imports nothing is forgotten code",
      from: { orphan: true, pathNot: "\\.d\\.ts$" },
      to: {},
    },
    {
      name: "domain-is-pure",
      severity: "error",
      comment: "Domain imports domain and small pure libraries: no ports, no adapters, no input or output",
      from: { path: "^src/domain/" },
      to: { path: "^src/", pathNot: "^src/domain/" },
    },
    {
      name: "domain-does-no-io",
      severity: "error",
      comment: "Hashing and path folding are computations; everything else of Node.js is the outside world",
      from: { path: "^src/domain/" },
      to: { dependencyTypes: ["core"], pathNot: "^(node:)?(crypto|path|path/posix|buffer|util)$" },
    },
    {
      name: "ports-know-the-domain",
      severity: "error",
      from: { path: "^src/ports/" },
      to: { path: "^src/", pathNot: "^src/(domain|ports)/" },
    },
    {
      name: "app-knows-domain-and-ports",
      severity: "error",
      from: { path: "^src/app/" },
      to: { path: "^src/", pathNot: "^src/(domain|ports|app)/" },
    },
    {
      name: "contract-knows-the-domain",
      severity: "error",
      from: { path: "^src/contract/" },
      to: { path: "^src/", pathNot: "^src/(domain|contract)/" },
    },
    {
      name: "config-stands-alone",
      severity: "error",
      comment: "Configuration is a pure function of text; it may use the domain's bounds",
      from: { path: "^src/config/" },
      to: { path: "^src/", pathNot: "^src/(config|domain)/" },
    },
    {
      name: "adapters-know-ports-not-use-cases",
      severity: "error",
      from: { path: "^src/adapters/(?!http/|mcp/)" },
      to: { path: "^src/(app|contract|config|main|cli)/" },
    },
    {
      name: "inbound-adapters-know-app-and-contract",
      severity: "error",
      from: { path: "^src/adapters/(http|mcp)/" },
      to: { path: "^src/(config|main|cli)/" },
    },
    {
      name: "adapters-do-not-know-each-other",
      severity: "error",
      from: { path: "^src/adapters/([^/]+)/" },
      to: { path: "^src/adapters/", pathNot: "^src/adapters/$1/" },
    },
    {
      name: "client-commands-speak-http",
      severity: "error",
      comment: "The client side knows the contract, never the server's parts",
      from: { path: "^src/cli/" },
      to: { path: "^src/", pathNot: "^src/(cli|client|mcp|contract|domain)/" },
    },
    {
      name: "client-knows-the-contract",
      severity: "error",
      from: { path: "^src/client/" },
      to: { path: "^src/", pathNot: "^src/(client|contract)/" },
    },
    {
      name: "client-needs-nothing",
      severity: "error",
      comment:
        "What is imported for its types alone is gone at run time: the client runs wherever fetch does",
      from: { path: "^src/client/" },
      to: { pathNot: "^src/client/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "tools-know-the-contract",
      severity: "error",
      comment: "The MCP tools work over whatever reaches Bailiff: the services of a process, or its HTTP API",
      from: { path: "^src/mcp/" },
      to: { path: "^src/", pathNot: "^src/(mcp|contract|domain)/" },
    },
    {
      name: "nothing-imports-main",
      severity: "error",
      from: { path: "^src/(?!main/)" },
      to: { path: "^src/main/" },
    },
    {
      name: "sources-do-not-know-tests",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(test|bench|scripts|fixtures)/" },
    },
    {
      name: "console-shares-types-and-rendering",
      severity: "error",
      comment:
        "The console runs in a browser: of the sources it knows the wire's types, the one rendering, canonical JSON, and the reader of event streams",
      from: { path: "^console/" },
      to: {
        path: "^src/",
        pathNot: "^src/(contract/|client/event-messages|domain/(rendering/|canonical-json))",
      },
    },
    {
      name: "console-takes-only-types-of-the-contract",
      severity: "error",
      from: { path: "^console/" },
      to: { path: "^src/contract/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "sources-do-not-know-the-console",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^console/" },
    },
    onlyIn("dockerode-in-one-folder", "dockerode|docker-modem", "^src/adapters/docker/"),
    onlyIn("redis-in-one-folder", "bullmq|ioredis", "^src/adapters/redis/"),
    onlyIn(
      "fastify-in-one-folder",
      "fastify|@fastify/.*|fastify-type-provider-zod",
      "^src/adapters/(http|mcp)/",
    ),
    onlyIn("opentelemetry-in-one-folder", "@opentelemetry/.*", "^src/adapters/telemetry/"),
    onlyIn(
      "mcp-sdk-where-the-protocol-is-spoken",
      "@modelcontextprotocol/.*",
      "^src/(mcp/|adapters/mcp/|cli/mcp-command[.]ts$)",
    ),
    {
      name: "no-processes-but-redis-and-quota-programs",
      severity: "error",
      comment:
        "Commands run in containers; Bailiff itself starts its private redis-server and the file system's quota programs",
      from: { path: "^src/", pathNot: "^src/adapters/(redis-server/|project-quota/quota-programs[.]ts$)" },
      to: { path: "^(node:)?child_process$" },
    },
    {
      name: "no-development-packages-in-sources",
      severity: "error",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"] },
    },
    {
      name: "resolvable",
      severity: "error",
      comment:
        "What is compiled need not be there yet: some tests start built processes with parts put between",
      from: {},
      to: { couldNotResolve: true, pathNot: "(^|/)dist/" },
    },
  ],
  options: {
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default", "types"],
    },
  },
};
