import { type ConfigField, configFields } from "../../src/config/config-fields.js";

const cell = (text: string) => text.replaceAll("|", "\\|");

function fallbackOf(field: ConfigField): string {
  if (field.path.includes("<name>") && field.fallback === undefined) return "—";
  if (field.fallback === undefined) return "required";
  return `\`${JSON.stringify(field.fallback)}\``;
}

function variableOf(field: ConfigField): string {
  if (field.form === null) return "file only";
  return field.secret ? `\`${field.variable}\`, \`${field.variable}_FILE\`` : `\`${field.variable}\``;
}

/** `docs/configuration.md` as the schema says it. */
export function configurationPage(): string {
  const fields = configFields();
  const sections = [...new Set(fields.map(({ path }) => (path.length > 1 ? (path[0] ?? "") : "")))];
  const table = (section: string) => [
    "| field | accepts | unit | default | variable | why |",
    "| --- | --- | --- | --- | --- | --- |",
    ...fields
      .filter(({ path }) => (path.length > 1 ? path[0] : "") === section)
      .map((field) =>
        [
          `\`${field.path.join(".")}\``,
          cell(field.accepts) + (field.nullable ? ", or null" : ""),
          field.unit ?? "",
          cell(fallbackOf(field)),
          variableOf(field),
          cell(field.reason),
        ].join(" | "),
      )
      .map((row) => `| ${row} |`),
  ];
  return `${[
    "# Configuration",
    "",
    "This page is written from the schema by its test; `npx vitest run test/unit/config -u` writes it again.",
    "",
    "One YAML or JSON file, named by `--config` or `BAILIFF_CONFIG`, and environment variables over it. Every field is",
    "optional unless it says *required*. A file key or a `BAILIFF_` variable that is not listed here is an error, and all",
    "errors are reported at once. In a variable a list is separated by commas, a map is `name=value` pairs separated by",
    "commas, and an empty text means null where null is accepted. `REDIS_URL` is taken as `BAILIFF_REDIS_URL` is.",
    "`bailiff.example.yaml` is a complete file.",
    "",
    "Variables of the command line alone: `BAILIFF_CONFIG`, `BAILIFF_URL`, `BAILIFF_API_KEY`, `BAILIFF_API_KEY_FILE`.",
    ...sections.flatMap((section) => [
      "",
      section === "" ? "## Top level" : `## ${section}`,
      "",
      ...table(section),
    ]),
    "",
    "## Fields against each other",
    "",
    "- `limits.default_timeout_ms` ≤ `limits.hard_timeout_ms`; `limits.default_call_chars` ≤ `limits.hard_call_chars` ≤",
    "  `limits.service_chars`; `limits.stream_capture_bytes` ≤ `limits.stream_hard_bytes`.",
    "- `worker.shutdown_grace_ms` ≥ `limits.grace_ms`; `worker.lease_ms` ≥ 3 × `worker.heartbeat_ms`.",
    "- `auth.jwt` has exactly one of `jwks_url` and `jwks_file`.",
    "- `data_dir`, `init_path`, `auth.keys_file`, `auth.jwt.jwks_file`, `evidence.directory`, `evidence.signing_key_file`",
    "  and the policy files are not inside `workspaces.root`, where commands can write.",
  ].join("\n")}\n`;
}
