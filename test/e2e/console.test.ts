import axeCore from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent, BailiffProcess, Installation } from "../support/bailiff.js";
import { createInstallation, openAgent } from "../support/bailiff.js";
import { openWatchedPage, signIn, startBrowser, type WatchedPage } from "../support/console/browser.js";
import { until } from "../support/until.js";

const REVIEWER = [
  "approvals:read",
  "approvals:decide",
  "commands:read",
  "sessions:read",
  "policy:read",
] as const;

let installation: Installation;
let bailiff: BailiffProcess;
let agent: Agent;
let reviewer: string;
let browser: Browser;
const opened: WatchedPage[] = [];

beforeAll(async () => {
  const starting = startBrowser();
  installation = await createInstallation();
  bailiff = await installation.start("all");
  agent = await openAgent(installation, bailiff, { grant: { level: "allowlist" } });
  reviewer = await installation.key("acme", REVIEWER, "reviewer");
  browser = await starting;
}, 700_000);
afterAll(async () => {
  await browser?.close();
  await bailiff?.stop();
  await installation?.remove();
});

async function open(options: Parameters<typeof openWatchedPage>[2] = {}): Promise<WatchedPage> {
  const watched = await openWatchedPage(browser, bailiff.url, options);
  opened.push(watched);
  return watched;
}

/** Submits what a person has to decide about. */
async function ask(argv: readonly string[], more: Record<string, unknown> = {}) {
  const path = `/v1/sessions/${agent.sessionId}/commands`;
  const { status, body } = await bailiff.call(agent.key, "POST", path, { argv, ...more });
  expect([status, body.state], JSON.stringify(body)).toEqual([202, "awaiting_approval"]);
  return body;
}
const stateOf = async (id: string) => (await bailiff.call(reviewer, "GET", `/v1/approvals/${id}`)).body.state;
const show = (page: Page, id: string) =>
  page.evaluate((to) => {
    location.hash = to;
  }, `#/approvals/${id}`);

/** Everything axe-core finds; it is put into the page from outside, where the page's own policy does not reach. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axeCore.source);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const found = (await axe.run()).violations;
    return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
}

describe("the console", () => {
  test("asks for a key, and keeps it nowhere but in its memory", async () => {
    const { page, context } = await open();
    await page.goto("/");
    expect(new URL(page.url()).pathname).toBe("/console");
    await page.getByLabel("API key").fill("blf_nobody");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("This key is not valid.").waitFor();
    await signIn(page, reviewer);
    await page.getByText("Nothing waits for you").waitFor();
    const kept = await page.evaluate(async () =>
      JSON.stringify([
        { ...localStorage },
        { ...sessionStorage },
        await indexedDB.databases(),
        await caches.keys(),
        document.cookie,
        location.href,
        history.state,
        document.documentElement.outerHTML,
      ]),
    );
    expect(kept).not.toContain(reviewer);
    expect(JSON.stringify(await context.storageState())).not.toContain(reviewer);
    await page.reload();
    await page.getByLabel("API key").waitFor();
  });

  test("shows a hostile argv whole, as text, with everything marked that could hide or mislead", async () => {
    const argv = [
      "node",
      '<img src=x onerror=alert(1)><script>alert(2)</script>"><svg/onload=alert(3)>',
      "invoice\u202efdp.exe",
      "a\u200bb\u2060c\ufeff",
      "x\u{e0041}\u{e0042}",
      `rm${" ".repeat(3_000)}-rf`,
      "\n".repeat(50),
      "\u001b[2J\u001b[1;31mgone\u0007",
      "p\u0430ypal",
      "",
    ];
    const asked = await ask(argv, { reason: "<b>trust me</b>\u202e" });
    const watched = await open();
    const { page } = watched;
    await signIn(page, reviewer, `/console#/approvals/${asked.approval_id}`);
    const shown = page.locator(".detail > .argv");
    await shown.waitFor();
    // biome-ignore lint/performance/useDomNodeTextContent: what is rendered counts, not what is there.
    const text = (await shown.innerText()).replaceAll("\n", "");
    // What is on the screen is the argv, and nothing but printable ASCII.
    expect(JSON.parse(text)).toEqual(argv);
    expect(text).toMatch(/^[\x20-\x7e]+$/);
    for (const mark of ["bidi", "invisible", "spaces", "control", "look-alike", "empty"]) {
      await page.getByRole("list", { name: "Tokens to look at closely" }).getByText(mark).first().waitFor();
    }
    await page.getByText('"<b>trust me</b>\\u202e"').waitFor();
    await page.getByRole("button", { name: "Approve" }).waitFor();
    // No part of it is cut off, behind an edge or without size.
    const hidden = await shown.evaluate(
      (element) =>
        [element, ...element.querySelectorAll("*")].filter(
          (each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== "visible",
        ).length,
    );
    expect(hidden).toBe(0);
    expect(await page.locator("img, script:not([src]), svg[onload], b").count()).toBe(0);
    expect(watched.seen).toEqual([]);
    await bailiff.call(reviewer, "POST", `/v1/approvals/${asked.approval_id}/decision`, { decision: "deny" });
  });

  test("approves with one key and a confirmation, runs the command and shows its end", async () => {
    const asked = await ask(["sh", "-c", "echo done; exit 3"]);
    const { page } = await open();
    await signIn(page, reviewer, `/console#/approvals/${asked.approval_id}`);
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await page.keyboard.press("a");
    const dialog = page.getByRole("dialog");
    await dialog.getByText('"echo done; exit 3"').waitFor();
    await dialog.getByLabel("Note").fill("looks fine");
    // Whatever comes in meanwhile, the answer goes to what the dialog shows.
    const other = await ask(["sh", "-c", "echo other"]);
    await dialog.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Approved, and dispatched").waitFor();
    await page.locator(".outcome").getByText("completed").waitFor();
    await page.getByText("returncode 3").waitFor();
    await page.getByText('"looks fine"').waitFor();
    expect(await stateOf(other.approval_id)).toBe("pending");
    await show(page, other.approval_id);
    await page.locator(".detail > .argv").getByText("echo other").waitFor();
    await page.keyboard.press("d");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("d");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".standing").getByText("Denied", { exact: true }).waitFor();
    expect(await stateOf(other.approval_id)).toBe("denied");
  });

  test("says so when somebody else was faster", async () => {
    const asked = await ask(["sh", "-c", "echo faster"]);
    const { page } = await open();
    await signIn(page, reviewer, `/console#/approvals/${asked.approval_id}`);
    await page.getByRole("button", { name: "Approve" }).click();
    await bailiff.call(reviewer, "POST", `/v1/approvals/${asked.approval_id}/decision`, { decision: "deny" });
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await page.getByText("It was settled already: denied.").waitFor();
    await page.locator(".standing").getByText("Denied", { exact: true }).waitFor();
  });

  test("is worked by keys alone, and nothing moves under the finger", async () => {
    const first = await ask(["sh", "-c", "echo 1"]);
    const second = await ask(["sh", "-c", "echo 2"]);
    const { page } = await open();
    await page.goto("/console");
    // The field has the focus.
    await page.keyboard.type(reviewer);
    await page.keyboard.press("Enter");
    const selected = page.locator('.item[aria-current="true"]');
    await selected.getByText("echo 1").waitFor();
    await page.keyboard.press("j");
    await selected.getByText("echo 2").waitFor();
    await page.locator(".detail > .argv").getByText("echo 2").waitFor();
    const before = await selected.boundingBox();
    const third = await ask(["sh", "-c", "echo 3"]);
    await page.getByText("3 waiting").waitFor();
    await bailiff.call(reviewer, "POST", `/v1/approvals/${first.approval_id}/decision`, { decision: "deny" });
    await page.getByText("2 waiting").waitFor();
    expect(await selected.boundingBox()).toEqual(before);
    await page.keyboard.press("a");
    await page.getByRole("dialog").getByText('"echo 2"').waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("returncode 0").waitFor();
    expect(await stateOf(second.approval_id)).toBe("consumed");
    await page.keyboard.press("n");
    await selected.getByText("echo 3").waitFor();
    await page.locator(".detail > .argv").getByText("echo 3").waitFor();
    await page.keyboard.press("d");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".standing").getByText("Denied", { exact: true }).waitFor();
    expect(await stateOf(third.approval_id)).toBe("denied");
    await page.keyboard.press("c");
    await page.getByText("Nothing waits for you").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    // The tab key leads through everything, from the skip link on, and every stop can be seen.
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.keyboard.press("Tab");
    const stops: string[] = [];
    for (let i = 0; i < 8; i += 1) {
      stops.push(
        await page.evaluate(() => {
          const at = document.activeElement as HTMLElement;
          return getComputedStyle(at).outlineStyle === "none"
            ? `unseen ${at.outerHTML}`
            : at.textContent.trim();
        }),
      );
      await page.keyboard.press("Tab");
    }
    expect(stops.slice(0, 6)).toEqual([
      "Skip to the content",
      "Bailiff",
      "Approvals",
      "Commands",
      "Policy",
      "Fleet",
    ]);
    expect(stops.filter((stop) => stop.startsWith("unseen"))).toEqual([]);
  });

  test.each(["light", "dark"] as const)("has nothing that axe-core objects to, in %s", async (scheme) => {
    const asked = await ask(["sh", "-c", `echo \u202e ${scheme}`], { reason: "to be looked at" });
    const { page } = await open({ scheme });
    await page.goto("/console");
    await page.getByLabel("API key").waitFor();
    expect(await violations(page)).toEqual([]);
    await signIn(page, reviewer, `/console#/approvals/${asked.approval_id}`);
    await page.getByRole("button", { name: "Approve" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("d");
    await page.getByRole("dialog").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.locator(".standing").getByText("Denied", { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test("shows a command's hostile output as text, its decision and its evidence, verified", async () => {
    const program = [
      "import sys",
      "print('<img src=x onerror=alert(1)><script>alert(2)</script>')",
      "print('\\x1b[2J\\x1b]0;title\\x07gone\\x08')",
      "print('a\\u202eb\\u200bc\\U000e0041')",
      "print('far' + ' ' * 5000 + 'away')",
      "print('\\n' * 500 + 'the end')",
      "sys.stderr.write('x' * 5000)",
      "sys.exit(7)",
    ].join("\n");
    const free = await openAgent(installation, bailiff);
    const { body } = await free.submit(["python3", "-c", program], { max_stderr_chars: 100 });
    expect([body.outcome, body.returncode]).toEqual(["completed", 7]);
    const watched = await open();
    const { page } = watched;
    const operator = await installation.key("acme", ["admin"], "operator");
    await signIn(page, operator, `/console#/commands/${body.command_id}`);
    const stdout = page.getByRole("region", { name: "stdout" });
    for (const text of [
      "<img src=x onerror=alert(1)><script>alert(2)</script>",
      "[ESC][2J[ESC]]0;title[BEL]gone[BS]",
      "a[U+202E]b[U+200B]c[U+E0041]",
      "far[5000 spaces]away",
      "[500 empty lines]",
      "the end",
    ]) {
      await stdout.getByText(text).waitFor();
    }
    await page.getByText("truncated by request chars").waitFor();
    await page.getByText("returncode 7").waitFor();
    for (const layer of ["schema", "policy", "budget"]) {
      await page.locator(".layer-name").getByText(layer, { exact: true }).waitFor();
    }
    await page.getByText("hash holds").nth(1).waitFor();
    expect(await page.getByText("edited").count()).toBe(0);
    expect(await violations(page)).toEqual([]);

    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await page.getByRole("heading", { name: "Commands" }).waitFor();
    await page.getByLabel("Outcome").selectOption("completed");
    await page
      .getByRole("link", { name: /python3/ })
      .first()
      .waitFor();
    await page.getByLabel("Session").fill(free.sessionId);
    await page.keyboard.press("Enter");
    await page.locator(".row-link").first().waitFor();
    expect(await violations(page)).toEqual([]);

    await page.getByRole("link", { name: "Policy" }).click();
    await page.getByLabel("argv, as a JSON array").fill('["rm", "-rf", "/"]');
    await page.getByLabel("In the session").selectOption(agent.sessionId);
    await page.getByRole("button", { name: "Explain" }).click();
    await page.locator(".explained").getByText("deny").waitFor();
    expect(await violations(page)).toEqual([]);

    await page.getByRole("link", { name: "Fleet" }).click();
    await page.getByText("alive").waitFor();
    expect(await violations(page)).toEqual([]);
    expect(watched.seen).toEqual([]);
  });

  test("cancels a running command, and follows it to its end by its events", async () => {
    const free = await openAgent(installation, bailiff);
    const { body } = await free.submit(["sleep", "100"], { timeout_s: 120 }, {});
    const { page } = await open();
    await signIn(page, free.key, `/console#/commands/${body.command_id}`);
    await page.locator(".command-head").getByText("dispatched").waitFor();
    await page.keyboard.press("x");
    await page.getByRole("button", { name: "Cancel it" }).click();
    await page.locator(".command-head").getByText("cancelled").waitFor();
    await page.getByText("Look before anything is done again.").waitFor();
  });

  test("opens the queues to operators alone, for looking, by a cookie that opens nothing else", async () => {
    const asked = await ask(["sh", "-c", "echo not-on-the-board"]);
    const visit = (key: string) => bailiff.call(key, "POST", "/console/queues/visit");
    expect((await visit(reviewer)).body.code).toBe("insufficient_scope");
    expect((await bailiff.call("none", "POST", "/console/queues/visit")).status).toBe(401);
    for (const path of ["/console/queues", "/console/queues/api/queues", "/console/queues/static/x.js"]) {
      expect((await fetch(`${bailiff.url}${path}`)).status, path).toBe(401);
    }
    const operator = await installation.key("acme", ["admin"], "operator");
    const cookie = (await visit(operator)).headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(
      /^bailiff_board=[\w-]{43}; Path=\/console\/queues; Max-Age=600; HttpOnly; SameSite=Strict$/,
    );
    const headers = { cookie: cookie.split(";", 1)[0] ?? "" };
    expect((await fetch(`${bailiff.url}/v1/commands`, { headers })).status).toBe(401);
    const listed = await fetch(`${bailiff.url}/console/queues/api/queues?activeQueue=default&page=1`, {
      headers,
    });
    const text = await listed.text();
    expect([listed.status, JSON.parse(text).queues[0].name]).toEqual([200, "default"]);
    expect(JSON.parse(text).queues[0].readOnlyMode).toBe(true);
    expect(text).not.toContain("not-on-the-board");
    const pause = await fetch(`${bailiff.url}/console/queues/api/queues/default/pause`, {
      method: "PUT",
      headers,
    });
    expect(pause.status).toBe(405);
    await bailiff.call(reviewer, "POST", `/v1/approvals/${asked.approval_id}/decision`, { decision: "deny" });

    const { page, context } = await open();
    await signIn(page, operator, "/console#/fleet");
    const [board] = await Promise.all([
      context.waitForEvent("page"),
      page.getByRole("button", { name: "Look into the queues" }).click(),
    ]);
    await board.getByText("Bailiff queues").first().waitFor();
    expect(await board.evaluate(() => [document.cookie, location.href, opener].join())).not.toContain("blf_");
  });

  test("neither opened a dialog of the browser, nor reached out, nor broke its policy, in all of this", () => {
    expect(opened.length).toBeGreaterThan(5);
    expect(opened.flatMap(({ seen }) => seen)).toEqual([]);
  });

  // Last: the service starts again with another expiry.
  test("lets nobody approve what has expired, and says that it has", async () => {
    await bailiff.stop();
    bailiff = await installation.start("all", { limits: { approval_expiry_ms: 6_000 } });
    const asked = await ask(["sh", "-c", "echo late"]);
    const { page } = await open();
    await signIn(page, reviewer, `/console#/approvals/${asked.approval_id}`);
    await page.locator(".detail > .argv").getByText("echo late").waitFor();
    await page.getByText("Expired").first().waitFor();
    await until(async () => (await stateOf(asked.approval_id)) === "expired");
    await page.getByText("nobody approved it in time").waitFor();
    expect(
      await page
        .getByRole("button", { name: "Approve" })
        .isEnabled()
        .catch(() => false),
    ).toBe(false);
    await page.keyboard.press("a");
    expect(await page.getByRole("dialog").count()).toBe(0);
  });
});
