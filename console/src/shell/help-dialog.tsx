import { useLayoutEffect, useRef } from "preact/hooks";

const KEYS: readonly (readonly [string, string])[] = [
  ["j  k", "next, previous"],
  ["n", "next that waits"],
  ["a", "approve: asks once more"],
  ["d", "deny: asks once more"],
  ["c", "clear what is settled"],
  ["x", "cancel the command shown"],
  ["/", "to the filter"],
  ["g a", "approvals"],
  ["g c", "commands"],
  ["g p", "policy"],
  ["g f", "fleet"],
  ["?", "this list"],
  ["Esc", "back"],
];

/** The keys of the console. */
export function HelpDialog(props: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={props.onClose}>
      <h2 id="help-title">Keys</h2>
      <dl>
        {KEYS.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              {keys.split(/ +/).map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <div class="actions">
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}
