import type { ErrorCode } from "../../../src/domain/errors.js";
import { ERROR_TABLE } from "../../../src/domain/errors.js";

/** What each code tells a caller to do. A code without advice does not compile. */
const ADVICE: Readonly<Record<ErrorCode, string>> = {
  invalid_request: "Correct what `errors` names. Sending it again unchanged gives the same answer.",
  unauthenticated:
    "Send a valid key: `Authorization: Bearer …`. Nothing says whether a key is unknown, expired or malformed.",
  insufficient_scope: "Use a key that has the scope named in `detail`.",
  origin_refused: "Call from a program, not from a page of another site.",
  denied:
    "Final for this request; `decision` has every layer's verdict. Do not reword or wrap the command to get round it.",
  not_found: "It does not exist, or it is another tenant's: the two look alike.",
  method_not_allowed: "Use a method that the `Allow` header lists.",
  conflict: "Look at the thing's state, then decide.",
  idempotency_mismatch: "Use a new `Idempotency-Key` for a new request.",
  workspace_in_use: "Close the workspace's sessions first.",
  workspace_unusable: "An operator has to mend the workspace; `detail` says what is wrong.",
  payload_too_large:
    "Send less: `detail` names the limit of an archive and its entry; for other bodies it is the service's `request_body_bytes`.",
  unsupported_media_type:
    "Send `Content-Type: application/json`, in UTF-8, or `application/x-tar` for an archive; not compressed.",
  grant_exhausted: "Ask the operator for another session or grant.",
  budget_exhausted:
    "Nothing is left of the session's wall or CPU time, or its own unfinished commands hold the rest. Ask the operator for another session.",
  quota_exceeded: "Wait for running commands to end; come back after `Retry-After` seconds.",
  rate_limited: "Come back after `Retry-After` seconds.",
  overloaded: "Nothing was accepted. Come back after `Retry-After` seconds.",
  store_unavailable:
    "Whether a submit was accepted is not known: send it again with the same `Idempotency-Key`.",
  not_ready: "Nothing was accepted. Come back after `Retry-After` seconds.",
  shutting_down: "Send it again; another process will answer.",
  internal:
    "Report the `instance`; the log has the cause under that id. Send it again only with an `Idempotency-Key`.",
};

/** `docs/errors.md`, from the table. */
export function errorsPage(): string {
  const rows = Object.entries(ERROR_TABLE).map(
    ([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} | ${ADVICE[code as ErrorCode]} |`,
  );
  return `# Errors

Every refusal and fault is an [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) document of type
\`application/problem+json\`. Decide by \`code\`: it is stable, the texts are not.

| member | meaning |
| --- | --- |
| \`type\` | \`urn:bailiff:problem:\` and the code |
| \`code\`, \`status\`, \`title\` | as in the table below |
| \`detail\` | one sentence about this case; constant for 5xx |
| \`instance\` | \`urn:bailiff:request:\` and the request id, also in the \`X-Request-Id\` header and in the log |
| \`errors\` | the faulty fields: \`path\` (JSON pointer) and \`message\`; names limits and keys, never values |
| \`command_id\`, \`decision\` | of a denied command |
| \`entry\` | the entry of an archive that is at fault, with everything escaped |

A command that ran and failed is not an error: see \`outcome\`, \`effect\` and \`returncode\` in [the API](api.md).

| code | status | title | what to do |
| --- | --- | --- | --- |
${rows.join("\n")}

Requests that can't be read as HTTP at all are answered with \`invalid_request\` and the status 400, 408 or 431.
`;
}
