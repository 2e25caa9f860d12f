import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type ServerNotification,
  type ServerRequest,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import type { CallBounds } from "../contract/commands.js";
import { createBailiffTools } from "./bailiff-tools.js";
import type { ToolBackend } from "./tool-backend.js";
import { jsonSchemaOf } from "./tool-inputs.js";
import type { ToolResult } from "./tool-result.js";

const INSTRUCTIONS =
  "Bailiff runs one command at a time, each in a fresh container, under the policy of whoever operates it. " +
  "argv is data: no shell reads it. A denial is final: do not reword, split or wrap the command. " +
  "An unknown effect means it may or may not have happened: inspect the state before anything else, and do not repeat it. " +
  "A command that has not ended goes on without you: ask for it with await_command instead of sending it again.";

/** Who a call comes from, and how long its answer is waited for beside the protocol's own cancellation. */
export interface ToolCaller {
  readonly backend: ToolBackend;
  readonly signal: AbortSignal;
}

/** What the SDK hands to a request's handler. */
export type McpRequestExtra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** Makes MCP servers with the same tools; each serves one connection. */
export function createMcpServers(deps: {
  readonly version: string;
  readonly bounds: CallBounds;
  readonly nowMs: () => number;
  /** Told of what is no refusal; the client gets constant words. */
  readonly onFault: (tool: string, error: unknown) => void;
}): (callerOf: (extra: McpRequestExtra) => ToolCaller) => Server {
  const tools = createBailiffTools(deps);
  const byName = new Map(tools.map((each) => [each.name, each]));
  const listed = tools.map(
    ({ name, description, annotations, input, output }): Tool => ({
      name,
      title: annotations.title,
      description,
      annotations: { ...annotations },
      inputSchema: { ...jsonSchemaOf(input, "input"), type: "object" },
      outputSchema: { ...jsonSchemaOf(output, "output"), type: "object" },
    }),
  );

  return (callerOf) => {
    const server = new Server(
      { name: "bailiff", title: "Bailiff", version: deps.version },
      {
        capabilities: { tools: {} },
        instructions: INSTRUCTIONS,
        // Only for elicitation, which is never used here; the SDK's own would compile a validator per connection.
        jsonSchemaValidator: {
          getValidator: () => () => ({ valid: false, data: undefined, errorMessage: "not supported" }),
        },
      },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }));
    server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
      const tool = byName.get(request.params.name);
      if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, "there is no tool of this name");
      const { backend, signal } = callerOf(extra);
      try {
        return toMessage(
          await tool.run(request.params.arguments, backend, {
            signal: AbortSignal.any([signal, extra.signal]),
            progress: progressOf(extra),
          }),
        );
      } catch (error) {
        deps.onFault(tool.name, error);
        throw new McpError(
          ErrorCode.InternalError,
          "Bailiff failed. Whether anything happened is not known: inspect the state, and do not repeat the call.",
        );
      }
    });
    return server;
  };
}

/** Progress in seconds, so that it grows with every word; null where the client did not ask for it. */
function progressOf(extra: McpRequestExtra): ((message: string, elapsedS: number) => void) | null {
  const progressToken = extra._meta?.progressToken;
  if (progressToken === undefined) return null;
  let last = -1;
  return (message, elapsedS) => {
    last = Math.max(last + 1, elapsedS);
    const params = { progressToken, progress: last, message };
    // A client that has gone hears nothing: its call ends by the signal.
    extra.sendNotification({ method: "notifications/progress", params }).catch(() => undefined);
  };
}

/** Bailiff's own words first; then the whole as JSON, in which no output can pass for them. */
function toMessage(result: ToolResult): CallToolResult {
  const { structured, isError } = result;
  return {
    content: [
      { type: "text", text: structured.message },
      { type: "text", text: JSON.stringify(structured) },
    ],
    structuredContent: structured,
    isError,
  };
}
