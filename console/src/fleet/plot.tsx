import { plotPoints } from "./history.js";

const WIDTH = 240;
const HEIGHT = 48;

/** A small line over time, with its newest value in words. */
export function Plot(props: {
  readonly name: string;
  readonly values: readonly number[];
  readonly show: (value: number) => string;
  readonly atLeast?: number;
}) {
  const { values } = props;
  const newest = values.at(-1);
  const points = plotPoints(values, { width: WIDTH, height: HEIGHT - 4, atLeast: props.atLeast ?? 4 });
  return (
    <figure class="plot">
      <figcaption>
        <span class="muted small">{props.name}</span>
        <strong>{newest === undefined ? "—" : props.show(newest)}</strong>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <g transform="translate(0 2)">
          {values.length > 1 && <polygon points={`0,${HEIGHT - 4} ${points} ${WIDTH},${HEIGHT - 4}`} />}
          <polyline points={points} />
        </g>
      </svg>
    </figure>
  );
}

/** How many of each, as one bar. The numbers stand beside it: no colour has to be told from another. */
export function Shares(props: { readonly counts: readonly (readonly [string, string, number])[] }) {
  const total = props.counts.reduce((sum, [, , count]) => sum + count, 0);
  let from = 0;
  return (
    <svg class="shares" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      {props.counts.map(([name, tone, count]) => {
        const width = total === 0 ? 0 : (count / total) * 100;
        const x = from;
        from += width;
        return <rect key={name} class={`share-${tone}`} x={x} y={0} width={width} height={4} />;
      })}
    </svg>
  );
}
