import type { CommandSummaryWire } from "../api/wire.js";

/** Commands as they are listed, newest first. */
export interface CommandList {
  readonly shown: readonly CommandSummaryWire[];
  /** New ones that are not shown, so that nothing moves while the reader is in the list; newest first. */
  readonly held: readonly CommandSummaryWire[];
  /** Where the older ones begin; null where there are none. */
  readonly next: string | null;
}

/** A list before anything was asked. */
export const NO_COMMANDS: CommandList = { shown: [], held: [], next: null };

/** Brings the list up to date with its first page: known ones change in place, new ones come in on top, or are held back. */
export function mergeNewest(
  list: CommandList,
  page: { readonly commands: readonly CommandSummaryWire[]; readonly next_cursor: string | null },
  hold: boolean,
): CommandList {
  const current = new Map(page.commands.map((command) => [command.command_id, command]));
  const shown = list.shown.map((command) => current.get(command.command_id) ?? command);
  const known = new Set(shown.map(({ command_id }) => command_id));
  const fresh = page.commands.filter(({ command_id }) => !known.has(command_id));
  const held = [
    ...fresh,
    ...list.held.filter(({ command_id }) => !current.has(command_id) && !known.has(command_id)),
  ];
  const next = list.shown.length === 0 ? page.next_cursor : list.next;
  return hold && list.shown.length > 0
    ? { shown, held, next }
    : { shown: [...held, ...shown], held: [], next };
}

/** Shows what was held back. */
export function release(list: CommandList): CommandList {
  return { ...list, shown: [...list.held, ...list.shown], held: [] };
}

/** Appends a page of older ones. */
export function appendOlder(
  list: CommandList,
  page: { readonly commands: readonly CommandSummaryWire[]; readonly next_cursor: string | null },
): CommandList {
  const known = new Set(list.shown.map(({ command_id }) => command_id));
  const older = page.commands.filter(({ command_id }) => !known.has(command_id));
  return { ...list, shown: [...list.shown, ...older], next: page.next_cursor };
}
