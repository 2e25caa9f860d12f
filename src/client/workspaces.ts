import type { WorkspaceWire } from "../contract/workspaces.js";
import { segmentOf } from "./path-segment.js";
import type { CallOptions, Transport } from "./transport.js";

/** What can be done with workspaces. */
export interface Workspaces {
  /** Creates one, or finds it there. */
  put(workspaceId: string, options?: CallOptions): Promise<WorkspaceWire>;
  get(workspaceId: string, options?: CallOptions): Promise<WorkspaceWire>;
  /** Removes one with everything in it. */
  delete(workspaceId: string, options?: CallOptions): Promise<void>;
}

const pathOf = (workspaceId: string) => `/v1/workspaces/${segmentOf(workspaceId)}`;

/** The workspaces of one service. */
export function createWorkspaces(transport: Transport): Workspaces {
  return {
    async put(workspaceId, options) {
      const request = { method: "PUT", path: pathOf(workspaceId), repeatable: true };
      return (await transport.json(request, options)) as WorkspaceWire;
    },
    async get(workspaceId, options) {
      const request = { method: "GET", path: pathOf(workspaceId), repeatable: true };
      return (await transport.json(request, options)) as WorkspaceWire;
    },
    async delete(workspaceId, options) {
      await transport.json({ method: "DELETE", path: pathOf(workspaceId), repeatable: false }, options);
    },
  };
}
