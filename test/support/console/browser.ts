import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const run = promisify(execFile);
const CHROMIUM = fileURLToPath(new URL("../../../scripts/chromium.mjs", import.meta.url));
/** Where the browser has to be installed first, that takes its time. */
const INSTALL_LIMIT_MS = 600_000;

/** Starts a real Chromium; installs it where there is none. */
export async function startBrowser(): Promise<Browser> {
  const { stdout } = await run(process.execPath, [CHROMIUM], { timeout: INSTALL_LIMIT_MS });
  return chromium.launch({
    executablePath: stdout.trim(),
    // Chromium's own sandbox can't be had as root; what it shows is this project's own page.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none"],
  });
}

/** What must never happen while a page is looked at. */
export interface Trouble {
  /** Dialogs opened by a script, requests to elsewhere, violations of the page's policy, and errors nobody caught. */
  readonly seen: readonly string[];
}

/** A page of the console, watched. */
export interface WatchedPage extends Trouble {
  readonly page: Page;
  readonly context: BrowserContext;
}

/** Opens a page that reports everything that must not happen. */
export async function openWatchedPage(
  browser: Browser,
  url: string,
  options: { readonly scheme?: "light" | "dark"; readonly width?: number; readonly height?: number } = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    baseURL: url,
    colorScheme: options.scheme ?? "light",
    viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
    locale: "en-GB",
    timezoneId: "UTC",
  });
  const page = await context.newPage();
  // Generous, for a machine that has other things to do; nothing waits for it that goes well.
  page.setDefaultTimeout(60_000);
  const seen: string[] = [];
  const own = new URL(url).origin;
  page.on("dialog", (dialog) => {
    seen.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== own) seen.push(`request: ${request.url()}`);
  });
  page.on("pageerror", (error) => seen.push(`error: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    // Chromium writes a line for each answer that is a refusal; the pages under test provoke some.
    if (message.type() === "error" && !text.startsWith("Failed to load resource"))
      seen.push(`console: ${text}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  return { page, context, seen };
}

/** Signs in on the page's own screen. */
export async function signIn(page: Page, key: string, path = "/console"): Promise<void> {
  await page.goto(path);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
}
