/**
 * Shows the steps of a set-up: one line when a slow step starts, a sign of life while it lasts, one line at its end.
 * A step that was done already prints a single line, so that a second start stays short.
 */
export function createProgress({ stream = process.stderr, heartbeatMs = 15_000 } = {}) {
  const seconds = (sinceMs) => `${((Date.now() - sinceMs) / 1000).toFixed(1)} s`;
  return {
    /** A step that needed nothing. */
    ready(title, detail = "") {
      stream.write(`✓ ${title}${detail ? `: ${detail}` : ""}\n`);
    },
    note(text) {
      stream.write(`  ${text}\n`);
    },
    /** Does `work` under a title; `expectation` says how long it usually takes. */
    async step(title, expectation, work) {
      const startedMs = Date.now();
      stream.write(`▸ ${title} (${expectation})\n`);
      const heartbeat = setInterval(() => {
        stream.write(`  … ${title}: ${Math.round((Date.now() - startedMs) / 1000)} s so far\n`);
      }, heartbeatMs);
      heartbeat.unref();
      try {
        const value = await work();
        stream.write(`✓ ${title} (${seconds(startedMs)})\n`);
        return value;
      } finally {
        clearInterval(heartbeat);
      }
    },
  };
}
