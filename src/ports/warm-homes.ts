/** A command that a worker shows to another one, which may have a container waiting for it. */
export interface WarmOffer {
  readonly commandId: string;
  /** What the offering worker needs a container of, as in `fleetKindOf`. */
  readonly fleetKind: string;
  /** The worker that offers. */
  readonly from: string;
}

/** What became of an offer at the worker it was made to. */
export interface OfferAnswer {
  readonly commandId: string;
  /** The worker that answers. */
  readonly from: string;
  /** Whether that worker has dispatched the command. */
  readonly isTaken: boolean;
}

/**
 * Where in the fleet containers wait, and what workers say to each other about it. All of it is hints that may be old, lost,
 * doubled or late: what runs, and where, is decided by the claim alone. Rejects with StoreUnavailable.
 */
export interface WarmHomes {
  /** Names this worker the home of a kind, for so long. */
  settle(fleetKind: string, workerId: string, forMs: number): Promise<void>;
  /** Which worker last had a container waiting; null where none is known. */
  homeOf(fleetKind: string): Promise<string | null>;
  /** Names nobody the home of a kind. */
  forget(fleetKind: string): Promise<void>;
  /** False where that worker hears nothing. */
  offer(workerId: string, offer: WarmOffer): Promise<boolean>;
  /** Tells the worker that offered. */
  answer(workerId: string, answer: OfferAnswer): Promise<void>;
  /** Hears what is said to this worker, until the answer is called. */
  listen(
    workerId: string,
    hears: {
      readonly offered: (offer: WarmOffer) => void;
      readonly answered: (answer: OfferAnswer) => void;
    },
  ): () => void;
}
