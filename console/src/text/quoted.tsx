import { renderArgv } from "../../../src/domain/rendering/render-argv.js";
import { safeText } from "../../../src/domain/rendering/safe-text.js";
import { quotedPieces, quotedTokens } from "./quoted-pieces.js";

/** Characters of an argv that are shown at once; the rest needs a word of the reader, and no word is given without it. */
export const SHOWN_AT_ONCE = 20_000;

/** Rendered text with its escapes set apart. Left to right, whatever is in it. */
export function Rendered(props: { readonly text: string }) {
  return (
    <bdo dir="ltr" class="quoted">
      {quotedPieces(props.text).map(({ kind, text }, index) =>
        kind === "text" ? (
          text
        ) : (
          <span key={index} class={`quoted-${kind}`}>
            {text}
          </span>
        ),
      )}
    </bdo>
  );
}

/** A text of somebody else's on one line, in quotes, so that nothing in it can hide or reorder. */
export function Quoted(props: { readonly text: string }) {
  return <Rendered text={`"${safeText(props.text).text}"`} />;
}

/** Rendered words without quotes around them, escapes set apart all the same. */
export function RenderedWords(props: { readonly text: string }) {
  return (
    <bdo dir="ltr" class="words">
      {quotedPieces(`"${props.text}"`)
        .slice(1, -1)
        .map(({ kind, text }, index) =>
          kind === "text" ? (
            text
          ) : (
            <span key={index} class="quoted-escape">
              {text}
            </span>
          ),
        )}
    </bdo>
  );
}

/** Words of somebody else's, without quotes. Two different texts never look the same here either. */
export function Words(props: { readonly text: string }) {
  return <RenderedWords text={safeText(props.text).text} />;
}

/** A text that is nearly always a plain name: quoted only where it is not. */
export function Name(props: { readonly text: string }) {
  return /^[A-Za-z0-9][A-Za-z0-9_.:@/-]*$/.test(props.text) ? (
    <span class="name">{props.text}</span>
  ) : (
    <Quoted text={props.text} />
  );
}

/** An argv on one line in bounded length; null where a listing leaves it out. */
export function ArgvLine(props: { readonly argv: readonly string[] | null }) {
  if (props.argv === null) return <span class="muted">too long for a listing: open it</span>;
  return <Rendered text={renderArgv(props.argv).summary} />;
}

/** A rendered argv, whole: each token where a line can begin. */
export function ArgvBlock(props: { readonly text: string; readonly shown: number }) {
  const isCut = props.text.length > props.shown;
  const tokens = quotedTokens(isCut ? `${props.text.slice(0, props.shown)}]` : props.text);
  return (
    <code class="argv">
      <span class="quoted-mark">[</span>
      {tokens.map((token, index) => (
        <span key={index} class="argv-token">
          <Rendered text={token} />
          {index < tokens.length - 1 && <span class="quoted-mark">, </span>}
        </span>
      ))}
      {!isCut && <span class="quoted-mark">]</span>}
    </code>
  );
}
