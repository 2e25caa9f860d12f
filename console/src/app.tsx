import { useCallback, useEffect, useState } from "preact/hooks";
import type { ApiClient } from "./api/api-client.js";
import { ApiContext } from "./api/use-api.js";
import { ApprovalsPage } from "./approvals/approvals-page.js";
import { CommandPage } from "./commands/command-page.js";
import { CommandsPage } from "./commands/commands-page.js";
import { FleetPage } from "./fleet/fleet-page.js";
import { PolicyPage } from "./policy/policy-page.js";
import { HelpDialog } from "./shell/help-dialog.js";
import { Mark } from "./shell/mark.js";
import { goTo, linkTo, PAGES, type Route, useRoute } from "./shell/route.js";
import { SignIn } from "./shell/sign-in.js";
import { useKeys } from "./shell/use-keys.js";
import { Name } from "./text/quoted.js";

/** The whole console. */
export function App() {
  const [api, setApi] = useState<ApiClient | null>(null);
  const [message, setMessage] = useState<string | null>(null);
  const onRefused = useCallback(() => {
    setApi((old) => {
      if (old !== null) setMessage("The key is not valid any more. Sign in again.");
      return null;
    });
  }, []);
  if (api === null) return <SignIn message={message} onSignedIn={setApi} onSignedOut={onRefused} />;
  const signOut = () => {
    setMessage(null);
    setApi(null);
  };
  return (
    <ApiContext.Provider value={api}>
      <Frame api={api} signOut={signOut} />
    </ApiContext.Provider>
  );
}

function Frame(props: { readonly api: ApiClient; signOut(): void }) {
  const route = useRoute();
  const [help, setHelp] = useState(false);
  const [announced, announce] = useState("");
  useKeys({
    "?": () => setHelp(true),
    "g a": () => goTo(linkTo("approvals")),
    "g c": () => goTo(linkTo("commands")),
    "g p": () => goTo(linkTo("policy")),
    "g f": () => goTo(linkTo("fleet")),
  });
  useEffect(() => {
    document.title = `${titleOf(route.page)} · Bailiff`;
  }, [route.page]);

  return (
    <>
      {/* A button: the fragment of the address is the route. */}
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <a class="brand" href={linkTo("approvals")}>
          <Mark />
          <span>Bailiff</span>
        </a>
        <nav aria-label="Pages">
          {PAGES.map((page) => (
            <a key={page} href={linkTo(page)} aria-current={route.page === page ? "page" : undefined}>
              {titleOf(page)}
            </a>
          ))}
        </nav>
        <span class="who">
          <span class="who-name">
            <Name text={props.api.principal.principal_id} />
            <span class="muted">
              {" "}
              in <Name text={props.api.principal.tenant} />
            </span>
          </span>
          <button type="button" class="button button-quiet" aria-label="Keys" onClick={() => setHelp(true)}>
            <kbd>?</kbd>
          </button>
          <button type="button" class="button button-quiet" onClick={props.signOut}>
            Sign out
          </button>
        </span>
      </header>
      <main id="main" tabIndex={-1}>
        <Content route={route} announce={announce} />
      </main>
      <output class="announced" aria-live="polite">
        {announced}
      </output>
      {help && <HelpDialog onClose={() => setHelp(false)} />}
    </>
  );
}

function Content(props: { readonly route: Route; announce(words: string): void }) {
  const { page, id } = props.route;
  switch (page) {
    case "approvals":
      return <ApprovalsPage id={id} announce={props.announce} />;
    case "commands":
      return id === null ? <CommandsPage /> : <CommandPage id={id} announce={props.announce} />;
    case "policy":
      return <PolicyPage />;
    case "fleet":
      return <FleetPage />;
  }
}

function titleOf(page: Route["page"]): string {
  return page.charAt(0).toUpperCase() + page.slice(1);
}
