/** A span of time in its two largest units: `14 m 05 s`. Nothing below a second, nothing below zero. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number) => String(value).padStart(2, "0");
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  if (seconds < 86_400)
    return `${Math.floor(seconds / 3_600)} h ${two(Math.floor((seconds % 3_600) / 60))} m`;
  return `${Math.floor(seconds / 86_400)} d ${two(Math.floor((seconds % 86_400) / 3_600))} h`;
}

/** A duration as measured: `7 ms`, `1.2 s`, `2 m 05 s`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : spanText(ms);
}

/** Bytes in the unit that fits: `13 B`, `4.2 KiB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length, Math.floor(Math.log(bytes) / Math.log(1_024)));
  return `${(bytes / 1_024 ** power).toFixed(1)} ${units[power - 1]}`;
}

/** The time of day where the reader is; with the date where that is another day. */
export function timeText(iso: string, nowMs: number): string {
  const date = new Date(iso);
  const time = date.toLocaleTimeString("en-GB");
  return date.toDateString() === new Date(nowMs).toDateString()
    ? time
    : `${date.toLocaleDateString("en-GB", { day: "2-digit", month: "short" })} ${time}`;
}
