import { useLayoutEffect, useRef } from "preact/hooks";

/** What single keys do. `g a` is a key that follows another one within a moment. */
export type KeyMap = Readonly<Record<string, () => void>>;

const FOLLOW_MS = 1_500;

/**
 * Binds single keys while a component is shown. They do nothing while somebody types, holds a modifier or has a dialog open, and a
 * key that repeats because it is held down counts once: a decision is never made by a finger that stayed.
 */
export function useKeys(keys: KeyMap): void {
  const latest = useRef(keys);
  latest.current = keys;
  // With the page's own change, not after the next paint: what can be seen takes keys, or a fast finger presses into nothing.
  useLayoutEffect(() => {
    let before = "";
    let beforeMs = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
      const pair = event.timeStamp - beforeMs < FOLLOW_MS ? `${before} ${event.key}` : event.key;
      const isPair = Object.hasOwn(latest.current, pair);
      before = isPair ? "" : event.key;
      beforeMs = event.timeStamp;
      const name = isPair ? pair : event.key;
      if (!Object.hasOwn(latest.current, name)) return;
      event.preventDefault();
      latest.current[name]?.();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}
