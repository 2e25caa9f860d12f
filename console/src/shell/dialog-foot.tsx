import type { ComponentChildren } from "preact";

/** The end of a dialog that asks once more: what went wrong, the way back, and the way on. */
export function DialogFoot(props: {
  readonly fault: string | null;
  onBack(): void;
  readonly children: ComponentChildren;
}) {
  return (
    <>
      {props.fault !== null && (
        <p class="fault" role="alert">
          {props.fault}
        </p>
      )}
      <div class="actions">
        <button type="button" class="button" onClick={props.onBack}>
          Back <kbd>Esc</kbd>
        </button>
        {props.children}
      </div>
    </>
  );
}
