import { z } from "zod";

const name = z.string().min(1).max(200);
const sentence = z.string().min(1).max(1000);

const tokenGlob = z
  .strictObject({
    glob: z.string().min(1).max(256).describe("`*` stands for any characters (also `/`), `?` for one."),
  })
  .describe("A glob over one whole token.");
const tokenChars = z
  .strictObject({
    chars: z.string().min(1).max(256).describe("The token is not empty and has only these characters."),
  })
  .describe("A set of characters over one whole token.");
const tokenAlternative = z.union([z.string().max(4096), tokenGlob, tokenChars]);
const tokenPattern = z
  .union([tokenAlternative, z.array(tokenAlternative).min(1).max(1000)])
  .describe("One token: a literal, a glob, a set of characters, or a list of alternatives.");
const executablePattern = z.union([name, z.strictObject({ glob: z.string().min(1).max(256) })]);

const optionName = z
  .string()
  .regex(/^(?:-|--?[A-Za-z0-9?@#.][A-Za-z0-9_.?@#+-]*|\+[A-Za-z]+)$/, "an option such as -r or --recursive")
  .max(100);
const optionStyle = z
  .enum(["gnu", "single_dash"])
  .default("gnu")
  .describe("`gnu`: -rf is -r and -f, --rec abbreviates --recursive. `single_dash`: -exec is one option.");

const ruleOptions = z
  .strictObject({
    style: optionStyle,
    any: z
      .array(optionName)
      .min(1)
      .optional()
      .describe("The rule matches only if one of these may be present."),
    none: z
      .array(optionName)
      .min(1)
      .optional()
      .describe("The rule matches only if none of these may be present."),
    takes_value: z
      .array(optionName)
      .default([])
      .describe("Options of this program with a value of their own: ends a cluster, and is not an operand."),
  })
  .describe("Conditions on the options, in any order, cluster, abbreviation or `=` form.");

const decision = z.enum(["allow", "ask", "deny"]);
const exampleArgv = z.array(z.string()).min(1);

const rule = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,99}$/, "lower-case letters, digits, `.`, `_` and `-`"),
  decision,
  pattern: z
    .array(tokenPattern)
    .min(1)
    .max(64)
    .describe("Prefix of the argv; the first token is the executable."),
  exact: z.boolean().default(false).describe("The argv ends where the pattern ends."),
  options: ruleOptions.optional(),
  tokens_any: z
    .array(tokenAlternative)
    .min(1)
    .optional()
    .describe("One token after argv[0] is one of these."),
  tokens_none: z
    .array(tokenAlternative)
    .min(1)
    .optional()
    .describe("No token after argv[0] is one of these."),
  max_operands: z.number().int().min(0).optional().describe("At most so many tokens that are not options."),
  reason: sentence.describe("What the caller is told."),
  justification: sentence.describe("Why the rule exists, for the next person who edits it."),
  match: z
    .array(exampleArgv)
    .min(1)
    .describe("Vectors the rule must match, also through wrappers; checked at load."),
  not_match: z.array(exampleArgv).min(1).describe("Vectors the rule must not match; checked at load."),
});

const optionGrammar = {
  style: optionStyle,
  flags: z.array(optionName).default([]).describe("Options without a value."),
  takes_value: z.array(optionName).default([]).describe("Options whose value is attached or the next token."),
  optional_value: z.array(optionName).default([]).describe("Options whose value can only be attached."),
  numeric_options: z.boolean().default(false).describe("-5 is an option (as in `nice -5`)."),
  permute: z.boolean().default(false).describe("Options may follow operands."),
};

const judgedAsPaths = z
  .boolean()
  .default(false)
  .describe(
    "Words the entry takes for code are judged as paths all the same. Always so in files that only get stricter.",
  );

const wrapper = z.strictObject({
  names: z.array(executablePattern).min(1),
  ...optionGrammar,
  assignments: z
    .boolean()
    .default(false)
    .describe("NAME=value tokens come before the inner command (`env`)."),
  operands: z
    .number()
    .int()
    .min(0)
    .max(8)
    .default(0)
    .describe("Operands before the inner command (`timeout 5`)."),
  subcommands: z
    .array(name)
    .optional()
    .describe("It runs its operands only when the first one is one of these (`uv run`)."),
  inner: z
    .enum(["vector", "shell_text", "any_word", "none"])
    .default("vector")
    .describe(
      "What follows: a vector, words that are joined to shell text, a vector that may begin at any word, or nothing that runs.",
    ),
  bundled_operand: z
    .boolean()
    .default(false)
    .describe("The first operand can be a cluster of options without a dash (`tar xf`)."),
  text_options: z.array(optionName).default([]).describe("Options whose value is shell text (`script -c`)."),
  text_prefixes: z
    .array(z.string().min(1))
    .default([])
    .describe("Prefixes of such values to drop (`exec=`)."),
  split_options: z
    .array(optionName)
    .default([])
    .describe("Options whose value is split into more tokens (`env -S`)."),
  chdir_options: z
    .array(optionName)
    .default([])
    .describe("Options that change the directory of the inner command."),
  exec_markers: z.array(optionName).default([]).describe("Tokens that begin an inner vector (`find -exec`)."),
  opaque_options: z
    .array(optionName)
    .default([])
    .describe("Options that make the inner command ask at best."),
  appends_arguments: z
    .boolean()
    .default(false)
    .describe("The inner vector gets more tokens at run time (`xargs`)."),
  judged_as_paths: judgedAsPaths,
  reason: sentence,
});

const interpreter = z.strictObject({
  names: z.array(executablePattern).min(1),
  ...optionGrammar,
  shell: z.boolean().default(false).describe("The code is shell text: it is parsed and judged as well."),
  code_options: z.array(optionName).default([]).describe("Options that carry code (`python -c`)."),
  code_operand: z.boolean().default(false).describe("The first operand is code (`awk`, `sed`)."),
  file_options: z
    .array(optionName)
    .default([])
    .describe("Options that name the code's file instead of an operand."),
  code_tokens: z
    .array(tokenAlternative)
    .default([])
    .describe("Tokens that mean code from elsewhere (`make -f -`)."),
  script_operand: z
    .boolean()
    .default(true)
    .describe("The first operand is a file of code; approvals bind its content."),
  plain_code: z
    .array(tokenAlternative)
    .default([])
    .describe(
      "Code that can neither start nor write anything, such as a line range for `sed`: rules alone decide.",
    ),
  judged_as_paths: judgedAsPaths,
  reason: sentence,
});

const patternOperands = z.strictObject({
  names: z.array(executablePattern).min(1),
  ...optionGrammar,
  operands: z
    .array(z.number().int().min(1).max(64))
    .default([])
    .describe("Positions (from 1) that are not paths."),
  pattern_options: z.array(optionName).default([]).describe("Options whose value is not a path."),
  unless_options: z
    .array(optionName)
    .default([])
    .describe("With one of these, every operand is a path again."),
  reason: sentence,
});

const sink = z.strictObject({
  id: name,
  executables: z.array(executablePattern).min(1),
  image_digests: z
    .array(z.string().regex(/^sha256:[0-9a-f]{64}$/, "sha256: and 64 hexadecimal digits"))
    .default([])
    .describe("The images a trusted or conditional sink holds for; empty means none."),
  trust: z.enum(["untrusted", "conditional", "trusted"]),
  max_sensitivity: name,
  categories: z.array(name).default([]).describe("Categories that may flow here."),
  network: z.boolean().default(false),
  reason: sentence,
});

const byteCount = z.number().int().positive();
const profile = z.strictObject({
  image: z.string().regex(/^[^\s@]+@sha256:[0-9a-f]{64}$/, "an image pinned by digest: name@sha256:…"),
  network: z.string().default("none"),
  runtime: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "an OCI runtime's name as the engine knows it")
    .optional()
    .describe("The OCI runtime, as the engine knows it."),
  accept_unenforced_limits: z
    .boolean()
    .default(false)
    .describe("Run even where the OCI runtime does not enforce memory, processes and CPU time."),
  pool: z.string().optional(),
  read_only_roots: z.array(z.string().regex(/^\/[^\0]+$/, "an absolute path")).default([]),
  limits: z
    .strictObject({
      memory_bytes: byteCount.optional(),
      pids: byteCount.optional(),
      nano_cpus: byteCount.optional(),
      tmp_bytes: byteCount.optional(),
      shm_bytes: byteCount.optional(),
      home_bytes: byteCount.optional(),
      open_files: byteCount.optional(),
    })
    .default({}),
});

const limits = z.strictObject({
  hard_timeout_ms: z.number().int().positive().optional(),
  max_wrapper_depth: z.number().int().min(1).max(32).default(16).describe("Deeper nesting is denied."),
  max_inner_vectors: z
    .number()
    .int()
    .min(1)
    .max(4096)
    .default(512)
    .describe("More inner vectors are denied."),
  max_shell_text_chars: z
    .number()
    .int()
    .min(1)
    .max(131_072)
    .default(65_536)
    .describe("Longer shell text is denied."),
});

const environmentName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
  .refine(
    (key) => !/^(?:PATH|HOME|IFS|ENV|BASH_ENV|LD_.*|GIT_.*|DYLD_.*)$/i.test(key),
    "a name Bailiff does not set itself",
  );

/** The policy document as written (YAML or JSON), before compilation. Every object is strict: an unknown key is an error. */
export const policyDocumentSchema = z.strictObject({
  version: z.literal(1),
  base: z
    .boolean()
    .optional()
    .describe("Of several files, the ones that may also loosen; the first is always a base."),
  default: z.enum(["ask", "deny"]).default("ask").describe("The decision where no rule matches."),
  sensitivity: z
    .array(name)
    .min(1)
    .default(["public", "normal", "confidential", "restricted", "secret"])
    .describe("Lowest first."),
  trust: z
    .array(name)
    .min(1)
    .default(["untrusted", "unknown", "user_asserted", "verified", "trusted"])
    .describe("Lowest first."),
  categories: z.array(name).default([]),
  session_label: z
    .strictObject({
      sensitivity: name.default("public"),
      trust: name.default("unknown"),
      categories: z.array(name).default([]),
    })
    .prefault({})
    .describe("The label a new session begins with."),
  unmapped_max_sensitivity: name.default("normal").describe("Clearance of an executable without a sink."),
  network: z
    .strictObject({
      executables: z.array(executablePattern).default([]),
      max_sensitivity: name.default("public"),
    })
    .prefault({})
    .describe("Programs that talk to the network, and the clearance of anything network-capable."),
  limits: limits.prefault({}),
  environment: z.record(environmentName, z.string().max(4096)).default({}),
  profiles: z.record(z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/), profile).default({}),
  executables: z
    .record(
      z.string().regex(/^[^/\\]+$/, "a bare name"),
      z.array(z.string().regex(/^\/[^\0\\]+$/, "an absolute path in the image")).min(1),
    )
    .default({})
    .describe("Which absolute paths in the image a name stands for."),
  sinks: z.array(sink).default([]),
  wrappers: z.array(wrapper).default([]),
  interpreters: z.array(interpreter).default([]),
  pattern_operands: z.array(patternOperands).default([]),
  rules: z.array(rule).default([]),
});

/** A parsed policy document with every default filled in. */
export type PolicyDocument = z.output<typeof policyDocumentSchema>;
/** One rule of a parsed document. */
export type PolicyRule = PolicyDocument["rules"][number];
/** One wrapper of a parsed document. */
export type PolicyWrapper = PolicyDocument["wrappers"][number];
/** One interpreter of a parsed document. */
export type PolicyInterpreter = PolicyDocument["interpreters"][number];
/** One entry of operands that are not paths. */
export type PolicyPatternOperands = PolicyDocument["pattern_operands"][number];
/** One sink of a parsed document. */
export type PolicySink = PolicyDocument["sinks"][number];
/** One alternative of a token pattern. */
export type TokenAlternative = z.output<typeof tokenAlternative>;
/** One element of a rule's pattern. */
export type TokenPattern = z.output<typeof tokenPattern>;
/** A literal name or a glob over names. */
export type ExecutablePattern = z.output<typeof executablePattern>;
