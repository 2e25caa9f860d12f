/** `node healthcheck.mjs URL`: ends with 0 where the URL answers with success in time. For an image without a shell. */
const [, , url] = process.argv;

try {
  const answer = await fetch(url, { signal: AbortSignal.timeout(5_000), redirect: "error" });
  if (!answer.ok) console.error(`${url}: ${answer.status} ${(await answer.text()).slice(0, 500)}`);
  process.exitCode = answer.ok ? 0 : 1;
} catch (error) {
  console.error(`${url}: ${error.message}`);
  process.exitCode = 1;
}
