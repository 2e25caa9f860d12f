/** Milliseconds that one piece of work took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Something measured beside others. Answers its own milliseconds, so that what has to be made ready does not count. */
export type Contender = () => Promise<number>;

/**
 * Takes turns: each round measures every contender once, in an order that moves on by one, so that a machine whose load
 * changes changes it for all. The first round warms up and is dropped. Ends after `rounds` or `limitMs`.
 */
export async function takeTurns(
  contenders: Readonly<Record<string, Contender>>,
  bound: { readonly rounds: number; readonly limitMs: number },
): Promise<ReadonlyMap<string, readonly number[]>> {
  const names = Object.keys(contenders);
  const samples = new Map<string, number[]>(names.map((name) => [name, []]));
  const untilMs = performance.now() + bound.limitMs;
  for (let round = 0; round <= bound.rounds; round += 1) {
    if (round > 1 && performance.now() > untilMs) break;
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(round + turn) % names.length] ?? "";
      const elapsedMs = await contenders[name]?.();
      if (round > 0 && elapsedMs !== undefined) samples.get(name)?.push(elapsedMs);
    }
  }
  return samples;
}

/** A closed loop: so many workers, each of which begins again as soon as it is done. */
export interface LoopResult {
  readonly latenciesMs: readonly number[];
  readonly elapsedMs: number;
}

/** Keeps `concurrency` pieces of work going until `forMs` are over or `atMost` were begun; waits for those under way. */
export async function keepGoing(
  bound: { readonly concurrency: number; readonly forMs: number; readonly atMost: number },
  work: (worker: number) => Promise<unknown>,
): Promise<LoopResult> {
  const latenciesMs: number[] = [];
  const began = performance.now();
  let started = 0;
  const loop = async (worker: number) => {
    while (started < bound.atMost && performance.now() - began < bound.forMs) {
      started += 1;
      latenciesMs.push(await timed(() => work(worker)));
    }
  };
  // A failure of one worker is told only when all have ended: nothing is left under way.
  const ends = await Promise.allSettled(
    Array.from({ length: bound.concurrency }, (_, worker) => loop(worker)),
  );
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return { latenciesMs, elapsedMs: performance.now() - began };
}
