import type Docker from "dockerode";

/** A call that dockerode's own methods can't make in the form needed. */
export interface EngineRequest {
  readonly path: string;
  readonly method: "GET" | "POST";
  /** Statuses that count as success; none for a call that must end in an upgrade. */
  readonly statusCodes: Readonly<Record<number, true>>;
  readonly abortSignal: AbortSignal;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly file?: Buffer;
  readonly isStream?: boolean;
  readonly hijack?: boolean;
}

/** One request through dockerode's transport; the caller knows what shape the answer has. */
export function engineDial<T>(docker: Docker, request: EngineRequest): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    docker.modem.dial({ ...request }, (error, answer) => {
      if (error) reject(error);
      else resolve(answer as T);
    });
  });
}
