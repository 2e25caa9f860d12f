/** How good the news is. */
export type Tone = "good" | "bad" | "wait" | "live" | "odd" | "plain";

const TONES: Readonly<Record<string, Tone>> = {
  awaiting_approval: "wait",
  pending: "wait",
  queued: "plain",
  dispatched: "live",
  approved: "good",
  consumed: "good",
  completed: "good",
  denied: "bad",
  approval_denied: "bad",
  approval_expired: "plain",
  expired: "plain",
  cancelled: "plain",
  void: "bad",
  start_failed: "bad",
  timed_out: "odd",
  output_limit_exceeded: "odd",
  out_of_memory: "odd",
  lost: "odd",
  unknown: "odd",
  none: "plain",
  allow: "good",
  pass: "plain",
  ask: "wait",
  deny: "bad",
  skipped: "plain",
  alive: "good",
  draining: "wait",
  silent: "bad",
};

/** How good the news of a state, an outcome or a verdict is. */
export function toneOf(word: string): Tone {
  return TONES[word] ?? "plain";
}

/** A state, an outcome or a verdict in the service's own word. The word says it; the colour only helps. */
export function Badge(props: { readonly word: string; readonly tone?: Tone }) {
  return (
    <span class={`badge badge-${props.tone ?? toneOf(props.word)}`}>{props.word.replaceAll("_", " ")}</span>
  );
}
