import { useRef, useState } from "preact/hooks";
import { type ApiClient, ApiProblem, signIn, wordsOf } from "../api/api-client.js";
import { Mark } from "./mark.js";

/** Asks for the API key. It is kept in this page's memory: a reload or a closed tab forgets it. */
export function SignIn(props: {
  readonly message: string | null;
  onSignedIn(api: ApiClient): void;
  onSignedOut(): void;
}) {
  const field = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);

  const submit = async (event: Event) => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? "";
    if (key === "" || busy) return;
    setBusy(true);
    setFault(null);
    try {
      const api = await signIn(key, props.onSignedOut);
      if (field.current !== null) field.current.value = "";
      props.onSignedIn(api);
    } catch (error) {
      setBusy(false);
      setFault(
        error instanceof ApiProblem && error.status === 401 ? "This key is not valid." : wordsOf(error),
      );
      field.current?.select();
    }
  };

  return (
    <main class="sign-in" id="main">
      <form onSubmit={(event) => void submit(event)}>
        <Mark />
        <h1>Bailiff</h1>
        <p class="muted">Nothing runs without a decision. Sign in to see what waits for yours.</p>
        <label class="field">
          <span>API key</span>
          <input
            ref={field}
            type="password"
            autoComplete="off"
            autoCapitalize="off"
            spellcheck={false}
            required
            // biome-ignore lint/a11y/noAutofocus: the only thing on the page.
            autoFocus
          />
        </label>
        {(fault ?? props.message) !== null && (
          <p class="fault" role="alert">
            {fault ?? props.message}
          </p>
        )}
        <button type="submit" class="button button-main" disabled={busy}>
          Sign in
        </button>
        <p class="muted small">The key stays in this page's memory. A reload asks for it again.</p>
      </form>
    </main>
  );
}
