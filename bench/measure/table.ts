import type { Row } from "./row.js";

const HEADINGS = ["", "n", "median", "p90", "p99", "unit", "ratio", "against"];

/** The rows as text, one group per benchmark, with its title above. */
export function renderTable(rows: readonly Row[], titles: ReadonlyMap<string, string>): string {
  const cells = rows.map((row) => [
    row.label,
    String(row.samples),
    figure(row.p50),
    row.samples > 1 ? figure(row.p90) : "",
    row.samples > 1 ? figure(row.p99) : "",
    row.unit,
    row.ratio === null ? "" : `${figure(row.ratio)}×`,
    row.baseline ?? "",
  ]);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...cells.map((line) => line[column]?.length ?? 0)),
  );
  const line = (texts: readonly string[]) =>
    texts
      .map((text, column) =>
        column === 0 || column >= 5 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd();
  const lines = [line(HEADINGS)];
  let benchmark = "";
  rows.forEach((row, index) => {
    if (row.benchmark !== benchmark) {
      benchmark = row.benchmark;
      lines.push("", `${benchmark}: ${titles.get(benchmark) ?? ""}`);
    }
    lines.push(line(cells[index] ?? []));
  });
  return lines.join("\n");
}

/** Three significant digits, and no more than a reader needs. */
function figure(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  if (size >= 10) return value.toFixed(1);
  return size >= 1 ? value.toFixed(2) : value.toFixed(3);
}
