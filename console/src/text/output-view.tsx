import { useMemo, useState } from "preact/hooks";
import { outputLines } from "./output-pieces.js";

/** Shown at once; the rest on a word, so that a page of a megabyte does not hold up the reader. */
const SHOWN_CHARACTERS = 60_000;

/** Output of a command, as text and nothing else. */
export function OutputView(props: { readonly output: string; readonly name: string }) {
  const { output } = props;
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? output : output.slice(0, SHOWN_CHARACTERS).toWellFormed();
  const lines = useMemo(() => outputLines(shown), [shown]);
  return (
    <>
      {/* A region that scrolls is a stop of the tab key, so that keys can scroll it. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls. */}
      <section class="output" tabIndex={0} aria-label={props.name}>
        <ol>
          {lines.map((line, index) => (
            <li key={index} data-number={line.number}>
              <bdo dir="ltr">
                {line.pieces.map((piece, at) =>
                  piece.kind === "text" ? (
                    piece.text
                  ) : (
                    <span key={at} class="quoted-escape">
                      {piece.text}
                    </span>
                  ),
                )}
              </bdo>
            </li>
          ))}
        </ol>
      </section>
      {output.length > shown.length && (
        <button type="button" class="link small" onClick={() => setWhole(true)}>
          {shown.length} of {output.length} characters shown: show all
        </button>
      )}
    </>
  );
}
