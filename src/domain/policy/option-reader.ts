/** What is known about a program's options; names with their dashes. */
export interface OptionGrammar {
  readonly style: "gnu" | "single_dash";
  readonly flags: ReadonlySet<string>;
  readonly takesValue: ReadonlySet<string>;
  readonly optionalValue: ReadonlySet<string>;
  readonly numericOptions: boolean;
  readonly permute: boolean;
}

/** One option as it was read; `valueIndex` is the token that holds the value. */
export interface OptionRead {
  readonly name: string;
  readonly value?: string;
  readonly index: number;
  readonly valueIndex?: number;
}

/** An argv read with a grammar. */
export interface OptionsRead {
  readonly options: readonly OptionRead[];
  /** Token indices; without `permute` only the first one, where reading stopped. */
  readonly operands: readonly number[];
  /** Where the operands begin; argv.length when there is none. */
  readonly restIndex: number;
  /** False when a token did not fit the grammar: nothing after it may be relied on. */
  readonly understood: boolean;
}

/** Letters of a cluster that are still read behind an unknown one. */
const MAX_UNKNOWN_LETTERS = 64;

/**
 * Reads options from argv[start] on as getopt_long would: clusters, attached values, `--name=value`, abbreviations, `--`.
 * Linear in the input (times the constant size of the grammar).
 */
export function readOptions(argv: readonly string[], grammar: OptionGrammar, start = 1): OptionsRead {
  const options: OptionRead[] = [];
  const operands: number[] = [];
  let understood = true;
  let index = start;
  const push = (name: string, value: string | undefined, at: number, valueIndex: number | undefined) => {
    options.push({
      name,
      index: at,
      ...(value === undefined ? {} : { value }),
      ...(valueIndex === undefined ? {} : { valueIndex }),
    });
  };
  const pushWithNext = (name: string) => {
    const next = argv[index + 1];
    if (next === undefined) understood = false;
    push(name, next, index, next === undefined ? undefined : index + 1);
    index++;
  };

  for (; index < argv.length; index++) {
    const token = argv[index] ?? "";
    if (token === "--" && grammar.style === "gnu") {
      index++;
      break;
    }
    if (grammar.numericOptions && /^-[0-9]{1,4}$/.test(token)) {
      push(token, undefined, index, undefined);
      continue;
    }
    if (token === "-" && grammar.flags.has("-")) {
      push(token, undefined, index, undefined);
      continue;
    }
    const isOption = (token.startsWith("-") && token !== "-") || /^\+[A-Za-z]{1,32}$/.test(token);
    if (!isOption || (token.startsWith("+") && !knows(grammar, token.slice(0, 2)))) {
      if (!grammar.permute) break;
      operands.push(index);
      continue;
    }
    if (token.startsWith("--") || grammar.style === "single_dash") {
      const equals = token.indexOf("=");
      const written = equals < 0 ? token : token.slice(0, equals);
      const name = resolveLong(grammar, written);
      if (name === undefined) {
        understood = false;
        push(
          written,
          equals < 0 ? undefined : token.slice(equals + 1),
          index,
          equals < 0 ? undefined : index,
        );
      } else if (equals >= 0) {
        if (grammar.flags.has(name)) understood = false;
        push(name, token.slice(equals + 1), index, index);
      } else if (grammar.takesValue.has(name)) pushWithNext(name);
      else push(name, undefined, index, undefined);
      continue;
    }
    const sign = token[0] ?? "-";
    for (let at = 1; at < token.length; at++) {
      const name = sign + (token[at] ?? "");
      const rest = token.slice(at + 1);
      if (grammar.takesValue.has(name)) {
        if (rest === "") pushWithNext(name);
        else push(name, rest, index, index);
        break;
      }
      if (grammar.optionalValue.has(name)) {
        push(name, rest, index, index);
        break;
      }
      if (!grammar.flags.has(name)) understood = false;
      push(name, undefined, index, undefined);
      if (!understood && at > MAX_UNKNOWN_LETTERS) break;
    }
  }
  const restIndex = Math.min(index, argv.length);
  for (let rest = restIndex; rest < argv.length; rest++) operands.push(rest);
  return { options, operands, restIndex, understood };
}

function knows(grammar: OptionGrammar, name: string): boolean {
  return grammar.flags.has(name) || grammar.takesValue.has(name) || grammar.optionalValue.has(name);
}

/** The full name of a possibly abbreviated long option; undefined when unknown or ambiguous. */
function resolveLong(grammar: OptionGrammar, written: string): string | undefined {
  if (knows(grammar, written)) return written;
  if (grammar.style === "single_dash" || written.length < 3) return undefined;
  let found: string | undefined;
  for (const names of [grammar.flags, grammar.takesValue, grammar.optionalValue]) {
    for (const name of names) {
      if (!name.startsWith(written)) continue;
      if (found !== undefined) return undefined;
      found = name;
    }
  }
  return found;
}
