/** Which options an argv may carry, read so that doubt counts as present. */
export interface OptionFacts {
  has(option: string): boolean;
  /** Tokens after argv[0] that are neither options nor the value of a declared option. */
  readonly operandCount: number;
}

/**
 * Reads what options could be meant: every letter of a cluster (up to one that takes a value), every abbreviation of a long option,
 * `--name=value`. `--` ends the options unless it may itself be the value of an option before it: of every letter of a cluster, as in
 * programs that read `-LP 2 PATTERN`. A token that might be a value is
 * still read as an option: a rule that forbids an option is never dodged by hiding it behind another.
 */
export function readOptionFacts(
  argv: readonly string[],
  style: "gnu" | "single_dash",
  takesValue: ReadonlySet<string>,
): OptionFacts {
  const letters = new Set<string>();
  const words = new Set<string>();
  let operandCount = 0;
  let ended = false;
  let valueExpected = false;
  /** How many of the next tokens may still be values. */
  let possibleValues = 0;
  for (let index = 1; index < argv.length; index++) {
    const token = argv[index] ?? "";
    const isValue = valueExpected;
    const mayBeValue = possibleValues > 0;
    valueExpected = false;
    if (possibleValues > 0) possibleValues--;
    if (ended || token === "-" || !token.startsWith("-")) {
      if (!isValue) operandCount++;
      continue;
    }
    if (token === "--" && style === "gnu") {
      if (!mayBeValue) ended = true;
      continue;
    }
    const equals = token.indexOf("=");
    const word = equals < 0 ? token : token.slice(0, equals);
    words.add(word);
    if (style === "single_dash" || token.startsWith("--")) {
      valueExpected = equals < 0 && takesValue.has(word);
      possibleValues = equals < 0 ? 1 : 0;
      continue;
    }
    possibleValues = token.length - 1;
    for (let at = 1; at < token.length; at++) {
      const letter = `-${token[at]}`;
      letters.add(letter);
      if (takesValue.has(letter)) {
        valueExpected = at === token.length - 1;
        possibleValues = valueExpected ? 1 : 0;
        break;
      }
    }
  }
  return {
    operandCount,
    has(option) {
      if (letters.has(option) || words.has(option)) return true;
      if (!option.startsWith("--")) return false;
      for (let length = 3; length < option.length; length++) {
        if (words.has(option.slice(0, length))) return true;
      }
      return false;
    },
  };
}
