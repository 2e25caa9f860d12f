import { useLayoutEffect, useState } from "preact/hooks";

/** The pages, in the order of the navigation. */
export const PAGES = ["approvals", "commands", "policy", "fleet"] as const;

/** One page. */
export type Page = (typeof PAGES)[number];

/** Where the reader is: a page, and the one thing it is about. It is the fragment of the address, which no server sees. */
export interface Route {
  readonly page: Page;
  readonly id: string | null;
}

const ID = /^(apr|cmd)_[0-9a-z]{26}$/;

/** Reads a fragment; what is not a route leads to the approvals. */
export function readRoute(fragment: string): Route {
  const [, name, id] = /^#\/([a-z]+)(?:\/([^/]*))?$/.exec(fragment) ?? [];
  const page = PAGES.find((each) => each === name) ?? "approvals";
  return { page, id: id !== undefined && ID.test(id) ? id : null };
}

/** The address of a route within the console. */
export function linkTo(page: Page, id: string | null = null): string {
  return id === null ? `#/${page}` : `#/${page}/${id}`;
}

/** The route of the address, as it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute(location.hash));
  useLayoutEffect(() => {
    const follow = () => setRoute(readRoute(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

/** Goes to a route; `replace` leaves no step to go back to, for what follows a moving selection. */
export function goTo(link: string, replace = false): void {
  if (location.hash === link) return;
  if (replace) {
    history.replaceState(null, "", link);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = link;
}
