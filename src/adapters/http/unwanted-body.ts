import { displayKey } from "../../contract/display-key.js";
import { BailiffError } from "../../domain/errors.js";
import type { HttpScope } from "./http-deps.js";

/** Refuses a body where a route has no schema for one: what is not read must not look as if it were. `{}` is nothing. */
export function refuseUnwantedBody(app: HttpScope): void {
  app.addHook("preValidation", async (request) => {
    const { body } = request;
    if (body === undefined || body === null || request.routeOptions.schema?.body !== undefined) return;
    const key = typeof body === "object" ? Object.keys(body)[0] : "";
    if (key === undefined) return;
    throw new BailiffError(
      "invalid_request",
      key === "" || Array.isArray(body) ? "this takes no body" : `unknown key ${displayKey(key)}`,
      {
        faults: [{ path: "", message: "this takes no body" }],
      },
    );
  });
}
