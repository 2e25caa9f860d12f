/** The steps of a command's way through a worker at which a test can strike, in their order. */
export const STEPS = [
  "taken",
  "container ready",
  "claim unanswered",
  "claimed",
  "argv sent",
  "exited",
  "result written",
  "acknowledged",
] as const;

/** One of them. */
export type Step = (typeof STEPS)[number];

/** What strikes the worker's process. */
export type Fault = "killed" | "stopped" | "blocked" | "partitioned";

/** From a faulty worker to its test: it stands at its step with this command, and the fault begins. */
export interface StruckMessage {
  readonly struck: Step;
  readonly commandId: string;
}
