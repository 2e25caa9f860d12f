import type { IncomingMessage, ServerResponse } from "node:http";
import type { BaseAdapter } from "@bull-board/api/baseAdapter";
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RawServerDefault,
} from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { BailiffServices } from "../../app/services.js";
import type { SessionGrant } from "../../domain/decision/grant.js";
import type { ServiceLimits } from "../../domain/limits.js";
import type { Authenticator, Principal } from "../../ports/authenticator.js";
import type { Clock } from "../../ports/clock.js";
import type { IdSource } from "../../ports/id-source.js";
import type { Log, Metrics, Tracer } from "../../ports/telemetry.js";
import type { ConsoleFiles } from "./console-files.js";
import type { WaitRegistry } from "./wait-registry.js";

/** What the board of the queues is made of. */
export interface QueueBoard {
  /** The pools of the policy in force. */
  pools(): readonly string[];
  /** One queue, to be looked at. */
  queueOf(pool: string): BaseAdapter;
  /** Lets whoever has this token look for so long. */
  admit(token: string, forMs: number): Promise<void>;
  isAdmitted(token: string): Promise<boolean>;
}

/** What the HTTP edge is made of. */
export interface HttpDeps {
  readonly services: BailiffServices;
  readonly authenticator: Authenticator;
  readonly limits: ServiceLimits;
  /** Fills in what a caller's grant leaves out. */
  readonly defaultGrant: SessionGrant;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** The Prometheus text of this process. */
  readonly metricsText: () => Promise<string>;
  /** Whether `/metrics` answers without a key; otherwise it needs the scope `admin`. */
  readonly metricsPublic: boolean;
  /** Between two comments on an event stream, which keep proxies from closing it; 15 s unless told. */
  readonly eventHeartbeatMs?: number;
  /** Shown in the OpenAPI document. */
  readonly version: string;
  /** The console; left out where none was built. */
  readonly console?: ConsoleFiles | null;
  /** The queues, to be looked at with the scope `admin`. */
  readonly queueBoard?: QueueBoard;
  /** Routes of other adapters, inside the authenticated scope. */
  readonly moreRoutes?: readonly AuthenticatedRoutes[];
}

/** What routes of another adapter may know of a request. */
export interface RequestAccess {
  principalOf(request: FastifyRequest): Principal;
  /** Aborted when the answer is over, the client goes away or the service closes. */
  signalFor(reply: FastifyReply): AbortSignal;
}

/** Adds routes to the authenticated scope: none of them is reached without a valid credential. */
export type AuthenticatedRoutes = (scope: FastifyInstance, access: RequestAccess) => void;

/** A fastify scope whose routes are typed by their zod schemas. */
export type HttpScope = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** What routes of the authenticated scope are built from. */
export interface RouteDeps extends HttpDeps {
  /** The caller; throws when the request did not pass the scope's authentication. */
  readonly principalOf: (request: FastifyRequest) => Principal;
  readonly waits: WaitRegistry;
  /** The trace context of what is done for a request. */
  readonly traceparentOf: (request: FastifyRequest) => string | null;
}
