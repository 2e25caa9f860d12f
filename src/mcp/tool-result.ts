import { z } from "zod";

/** What the agent should do now, in one word. */
export const NEXT_STEPS = ["go_on", "correct", "stop", "inspect", "await", "later"] as const;

/** One of the words. */
export type NextStep = (typeof NEXT_STEPS)[number];

/** The members that every tool's structured result begins with. */
export const verdictShape = {
  message: z.string().meta({ description: "What happened and what to do now, in Bailiff's words." }),
  next_step: z.enum(NEXT_STEPS).meta({
    description:
      "go_on: read the result. correct: the call was wrong and nothing ran. stop: final, do not try again in any form. " +
      "inspect: the effect is unknown, look before anything else and do not repeat. await: not finished, call await_command. " +
      "later: nothing ran, there is no room now.",
  }),
  error_code: z.string().nullable().meta({ description: "Bailiff's stable code of a refusal, else null." }),
};

/** A tool's answer, before it becomes a message of the protocol. */
export interface ToolResult {
  readonly isError: boolean;
  readonly structured: Record<string, unknown> & { readonly message: string };
}
