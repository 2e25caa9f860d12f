import type { ContainerPurpose } from "../../ports/container-runtime.js";
import type { Metrics } from "../../ports/telemetry.js";
import type { OfferAnswer, WarmHomes } from "../../ports/warm-homes.js";
import type { WarmContainers } from "./warm-containers.js";
import { fleetKindOf } from "./warm-kind.js";

/** Offers commands to the workers that have containers waiting for them. */
export interface OfferCommand {
  /** True where the home has dispatched the command, so that there is nothing left to do here; never rejects. */
  offer(commandId: string, purpose: ContainerPurpose): Promise<boolean>;
  /** Takes in what a worker answered; what is not waited for any more is of no use. */
  answered(answer: OfferAnswer): void;
}

type OfferResult = "taken" | "declined" | "silent" | "failed";

/**
 * Before a worker makes a container for a command, the home of its kind may have the command instead. All of that together,
 * Redis's answers included, is waited for no longer than `offerMs`; whatever else happens, the command goes its usual way here.
 */
export function createOfferCommand(deps: {
  readonly homes: WarmHomes;
  readonly containers: Pick<WarmContainers, "holds">;
  readonly workerId: string;
  /** 0 offers nothing. */
  readonly offerMs: number;
  readonly later: (delayMs: number, work: () => void) => void;
  readonly metrics: Metrics;
}): OfferCommand {
  const { homes, workerId, offerMs, metrics } = deps;
  const open = new Map<string, { readonly home: string; readonly heard: (isTaken: boolean) => void }>();

  const unheard = () => metrics.count("bailiff_warm_home_failures_total");

  /** Null where there is nobody to ask, or no time left to. */
  const ask = async (
    commandId: string,
    fleetKind: string,
    isOver: () => boolean,
  ): Promise<OfferResult | null> => {
    const home = await homes.homeOf(fleetKind);
    if (home === null || home === workerId || isOver()) return null;
    const answer = new Promise<OfferResult>((resolve) => {
      open.set(commandId, { home, heard: (isTaken) => resolve(isTaken ? "taken" : "declined") });
    });
    return (await homes.offer(home, { commandId, fleetKind, from: workerId })) ? answer : "silent";
  };

  return {
    async offer(commandId, purpose) {
      if (offerMs === 0 || open.has(commandId) || deps.containers.holds(purpose)) return false;
      const fleetKind = fleetKindOf(purpose);
      let isOver = false;
      const over = new Promise<OfferResult>((resolve) => {
        deps.later(offerMs, () => {
          isOver = true;
          resolve(open.has(commandId) ? "silent" : "failed");
        });
      });
      const asked = ask(commandId, fleetKind, () => isOver).catch(() => "failed" as const);
      const result = await Promise.race([asked, over]);
      open.delete(commandId);
      if (result === null) return false;
      metrics.count("bailiff_warm_offers_total", { result });
      // The next command of this kind need not wait for that worker again.
      if (result === "silent") void homes.forget(fleetKind).catch(unheard);
      return result === "taken";
    },
    answered({ commandId, from, isTaken }) {
      const waiting = open.get(commandId);
      if (waiting?.home === from) waiting.heard(isTaken);
    },
  };
}
