import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createInstallation, openAgent } from "../bailiff.js";
import { openWatchedPage, signIn, startBrowser } from "./browser.js";

const DIRECTORY = fileURLToPath(new URL("../../../docs/images", import.meta.url));

/** What a command may write that a screen must not take for more than text. */
const HOSTILE_OUTPUT = [
  "import sys",
  "print('6 tests, 6 passed')",
  "print('<script>alert(1)</script>')",
  "print('\\x1b[31mred\\x1b[0m and \\u202egnp.exe\\u200b')",
  "print('far' + ' ' * 3000 + 'away   ')",
  "print('\\n' * 40 + 'the end')",
  "sys.stderr.write('1 warning\\n')",
];

const installation = await createInstallation();
const browser = await startBrowser();
try {
  const bailiff = await installation.start("all");
  const agent = await openAgent(installation, bailiff, { grant: { level: "allowlist" } });
  const free = await openAgent(installation, bailiff);
  const reviewer = await installation.key(
    "acme",
    ["approvals:read", "approvals:decide", "commands:read", "commands:write", "policy:read", "sessions:read"],
    "reviewer",
  );
  await agent.submit(["python3", "-m", "unittest", "-v"], { reason: "Run the tests after the change" });
  await agent.submit(["sh", "-c", "npm ci && npm run build"], { reason: "Build before the release" });
  const asked = await agent.submit(["node", "scripts/\u202egnp.sj", "--to", "stag\u0456ng", "a  b"], {
    reason: "Make the icons",
    timeout_s: 120,
  });
  await agent.submit(["make", "deploy", "ENV=staging"]);
  const ran = await free.submit(["python3", "-c", HOSTILE_OUTPUT.join("\n")]);

  await mkdir(DIRECTORY, { recursive: true });
  const pictures = [
    ["inbox-light", "light", `approvals/${asked.body.approval_id}`, ".verdict-bar"],
    ["command-dark", "dark", `commands/${ran.body.command_id}`, ".record-verdicts .badge"],
  ] as const;
  for (const [name, scheme, address, ready] of pictures) {
    const { page, context, seen } = await openWatchedPage(browser, bailiff.url, { scheme, height: 820 });
    await signIn(page, reviewer, `/console#/${address}`);
    await page.locator(ready).first().waitFor();
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: `${DIRECTORY}/console-${name}.png` });
    if (seen.length > 0) throw new Error(seen.join("\n"));
    await context.close();
  }
} finally {
  await browser.close();
  await installation.remove();
}
