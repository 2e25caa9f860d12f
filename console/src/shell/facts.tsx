import type { ComponentChildren } from "preact";

/** Named facts, one under the other. */
export function Facts(props: { readonly children: ComponentChildren }) {
  return <dl class="facts">{props.children}</dl>;
}

/** One of them. */
export function Fact(props: {
  readonly name: string;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
}) {
  return (
    <div class={props.wide ? "fact fact-wide" : "fact"}>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}
