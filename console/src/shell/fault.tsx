import { ApiProblem, wordsOf } from "../api/api-client.js";
import { Words } from "../text/quoted.js";

/** Says what the service refused; which scope it wanted, where that was it. Nothing where nothing failed. */
export function Fault(props: { readonly error: unknown }) {
  const { error } = props;
  if (error === null) return null;
  const scope =
    error instanceof ApiProblem && error.code === "insufficient_scope" ? error.body["required_scope"] : null;
  return (
    <p class="fault" role="alert">
      {typeof scope === "string" ? (
        <>
          This needs the scope <code>{scope}</code>, which this key does not have.
        </>
      ) : (
        <Words text={wordsOf(error)} />
      )}
    </p>
  );
}

/** Stands where a page would be that this key may not see. */
export function NeedsScope(props: { readonly scope: string; readonly what: string }) {
  return (
    <div class="empty">
      <h2>
        {props.what} needs the scope {props.scope}
      </h2>
      <p>The key you signed in with does not have it. Sign in with one that has, or ask an operator.</p>
    </div>
  );
}
