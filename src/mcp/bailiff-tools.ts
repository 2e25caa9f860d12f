import { z } from "zod";
import type { CallBounds } from "../contract/commands.js";
import { decisionSchema } from "../contract/decisions.js";
import { fieldFaults } from "../contract/field-faults.js";
import {
  commandReportSchema,
  reportCommand,
  reportLostSight,
  reportNoCommand,
  reportRefusal,
} from "./command-report.js";
import { followCommand, type ToolCall } from "./follow-command.js";
import { refusalVerdict } from "./refusal-verdict.js";
import { type ToolBackend, ToolRefusal } from "./tool-backend.js";
import { awaitInputSchema, commandInputSchema, directoryInputSchema } from "./tool-inputs.js";
import { type ToolResult, verdictShape } from "./tool-result.js";

/** What a tool does to the world, as the protocol's annotations say it. */
export interface ToolAnnotations {
  readonly title: string;
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** One tool of the MCP server, without its transport. */
export interface BailiffTool {
  readonly name: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly input: z.ZodType;
  readonly output: z.ZodType;
  /** Judges the arguments and does the work. Refusals are results; it throws only what is a fault of this process. */
  run(args: unknown, backend: ToolBackend, call: ToolCall): Promise<ToolResult>;
}

const directoryReportSchema = z.strictObject({
  ...verdictShape,
  cwd: z.string().nullable().meta({ description: "The current directory, relative to the workspace root." }),
});

const explanationReportSchema = z.strictObject({
  ...verdictShape,
  verdict: decisionSchema.shape.verdict.nullable(),
  layers: z.array(decisionSchema.shape.layers.element),
  policy_version: z.string().nullable(),
});

/** A tool from a typed body; arguments that do not fit and refusals become results of its own shape. */
function tool<I extends z.ZodType>(parts: {
  readonly name: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly input: I;
  readonly output: z.ZodType;
  readonly refused: (refusal: ToolRefusal) => ToolResult;
  readonly body: (input: z.output<I>, backend: ToolBackend, call: ToolCall) => Promise<ToolResult>;
}): BailiffTool {
  const { refused, body, ...rest } = parts;
  return {
    ...rest,
    async run(args, backend, call) {
      const parsed = parts.input.safeParse(args ?? {});
      if (!parsed.success) {
        const faults = fieldFaults(parsed.error, args ?? {}, "body");
        return refused(new ToolRefusal("invalid_request", "the arguments do not fit", { faults }));
      }
      try {
        return await body(parsed.data, backend, call);
      } catch (error) {
        if (error instanceof ToolRefusal) return refused(error);
        throw error;
      }
    },
  };
}

/** A refusal in the shape of a tool that reports no command. */
function plainRefusal(refusal: ToolRefusal, rest: Record<string, unknown>): ToolResult {
  const { message, next_step } = refusalVerdict(refusal);
  return { isError: true, structured: { message, next_step, error_code: refusal.code, ...rest } };
}

/** The tools, with the bounds of one service. */
export function createBailiffTools(deps: {
  readonly bounds: CallBounds;
  readonly nowMs: () => number;
}): readonly BailiffTool[] {
  const follow = async (backend: ToolBackend, commandId: string, call: ToolCall): Promise<ToolResult> =>
    reportCommand(
      await followCommand({ backend, nowMs: deps.nowMs }, await backend.get(commandId, 0, call.signal), call),
    );
  const commandInput = commandInputSchema(deps.bounds);

  return [
    tool({
      name: "run_shell_command",
      description:
        "Runs one command in a container of its own, in the current directory of the workspace, and waits for its end. " +
        "argv is the program and its arguments as literal data: no shell reads it, so `|`, `>`, `*`, `$X` and `;` mean nothing. " +
        "The command gets no input and no terminal. A nonzero returncode is the program's own answer, not an error of this tool. " +
        "A policy or a person may deny a command: that is final, so do not reword, split or wrap it. " +
        "When the effect is unknown, inspect the state before anything else and do not repeat the command. " +
        "When it has not ended yet, call await_command instead of sending it again.",
      // The network is the profile's: where there is one, a command can reach the outside.
      annotations: {
        title: "Run a command",
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: false,
        openWorldHint: true,
      },
      input: commandInput,
      output: commandReportSchema,
      refused: reportRefusal,
      async body(submission, backend, call) {
        const admitted = await backend.submit(submission);
        try {
          return reportCommand(await followCommand({ backend, nowMs: deps.nowMs }, admitted, call));
        } catch (error) {
          // From here on a refusal is no news of the command: it was taken.
          if (error instanceof ToolRefusal) return reportLostSight(admitted.command_id);
          throw error;
        }
      },
    }),
    tool({
      name: "await_command",
      description:
        "Waits for a command that was sent before and returns its result, as run_shell_command would have. It runs nothing. " +
        "Without command_id it is about the newest command of this session: use that after a call whose answer never came.",
      annotations: {
        title: "Wait for a command",
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      },
      input: awaitInputSchema,
      output: commandReportSchema,
      refused: (refusal) =>
        refusalVerdict(refusal).effect === "none"
          ? reportRefusal(refusal)
          : reportLostSight(refusal.commandId),
      async body({ command_id }, backend, call) {
        const commandId = command_id ?? (await backend.newest());
        return commandId === null ? reportNoCommand() : follow(backend, commandId, call);
      },
    }),
    tool({
      name: "change_directory",
      description:
        "Chooses where the next commands of this session run: a directory of the workspace, relative to the current one, or " +
        "absolute under /workspace. Commands themselves can't choose it.",
      annotations: {
        title: "Change the current directory",
        readOnlyHint: false,
        destructiveHint: false,
        // A relative path leads somewhere else each time.
        idempotentHint: false,
        openWorldHint: false,
      },
      input: directoryInputSchema,
      output: directoryReportSchema,
      refused: (refusal) => plainRefusal(refusal, { cwd: null }),
      async body({ path }, backend) {
        const cwd = await backend.changeDirectory(path);
        const message = `The next commands run in ${JSON.stringify(cwd)}.`;
        return { isError: false, structured: { message, next_step: "go_on", error_code: null, cwd } };
      },
    }),
    tool({
      name: "explain_command",
      description:
        "Says what would be decided about a command, layer by layer, without running anything: whether it would run, wait for a " +
        "person, or be denied. It is for telling people why; a denial is as final as a real one.",
      annotations: {
        title: "Explain a decision",
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      },
      input: commandInput,
      output: explanationReportSchema,
      refused: (refusal) => plainRefusal(refusal, { verdict: null, layers: [], policy_version: null }),
      async body(submission, backend) {
        const { verdict, layers, policy_version } = await backend.explain(submission);
        const reason = layers.find((layer) => layer.verdict === verdict)?.reason;
        const why = reason === undefined ? "" : ` ${reason.replace(/[.\s]+$/, "")}.`;
        const message =
          verdict === "allow"
            ? `It would run.${why}`
            : verdict === "ask"
              ? `It would wait for a person's approval.${why}`
              : `It would be denied.${why} Do not send it, and do not try to get the same effect in another way.`;
        return {
          isError: false,
          structured: {
            message,
            next_step: verdict === "deny" ? "stop" : "go_on",
            error_code: null,
            verdict,
            layers,
            policy_version,
          },
        };
      },
    }),
  ];
}
