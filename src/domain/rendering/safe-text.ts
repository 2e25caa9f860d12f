/** What a reader has to know of a token beyond its text. */
export type TextMark =
  /** C0, C1 and other control characters, line ends among them. */
  | "control"
  /** Characters that reorder the text around them, and letters of scripts that run right to left. */
  | "bidi"
  /** Zero-width, tag, filler, variation and other characters that show nothing, and spaces that are not the plain one. */
  | "invisible"
  /** Marks that draw onto the character before them. */
  | "combining"
  /** Characters that can pass for others. */
  | "look_alike"
  /** Private, unassigned or symbolic characters that fonts show as they please. */
  | "unusual"
  /** Plain spaces at an end, or several side by side; each is escaped, so that it can be counted. */
  | "spaces"
  /** A token of no characters at all. */
  | "empty";

/** Text that shows all it holds, with what was escaped in it. */
export interface SafeText {
  /** The inside of a JSON string: `JSON.parse` of it in quotes gives the original. */
  readonly text: string;
  readonly marks: readonly TextMark[];
}

/** Latin letters outside ASCII that readers tell apart from ASCII's: the accented ones of Europe, without the dotless, long and barred. */
const ACCENTED_LATIN =
  /^[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u0130\u0132-\u0137\u0139-\u013e\u0141-\u0148\u014a-\u017e]$/;

/** Scripts whose letters show as they are in a token that has letters of no other. */
const WHOLE_TOKEN_SCRIPTS: readonly RegExp[] = [
  /^\p{Script=Cyrillic}$/u,
  /^\p{Script=Greek}$/u,
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]$/u,
  /^\p{Script=Hangul}$/u,
];

/** Cyrillic and Greek letters that pass for ASCII's: a token of these alone passes for another word. */
const ASCII_LIKE = /^[АВЕЅІЈКМНОРСТУХҮҺаеѕіјкорсухүһԁԛԝёЁїЇγΑΒΕΖΗΙΚΜΝΟΡΤΥΧικνορτυχϲϳϹ]$/u;

/** Letters that pass for a stroke, a ring, a sign of punctuation or one another, in any company. */
const STROKE_LIKE = /^[一丨丶丿亅乙〇ノハ口ロニ二卜トエ工八夕タカ力ヘへべベぺペーㅡㅣㅇㅅ]$/u;

const NOTHING_TO_ESCAPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const PLAIN = /^[\x21-\x7e]$/;
const BIDI =
  /^[\p{Bidi_Control}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]$/u;
const ASCII_LETTER = /[A-Za-z]/;
const LETTER = /^\p{L}$/u;
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

/**
 * Writes text so that nothing in it can hide, reorder or pass for something else: the inside of a JSON string in which every
 * character outside a small set is `\uXXXX`. Reversible, so two different texts never look the same.
 */
export function safeText(original: string): SafeText {
  if (original === "") return { text: "", marks: ["empty"] };
  // What tokens nearly always are; also what keeps a long one cheap.
  if (NOTHING_TO_ESCAPE.test(original)) return { text: original, marks: [] };
  const marks = new Set<TextMark>();
  const characters = [...original];
  const readable = readableScript(characters, original);
  let text = "";
  for (const [index, character] of characters.entries()) {
    if (character === " ") {
      const isAlone =
        index > 0 &&
        index < characters.length - 1 &&
        characters[index - 1] !== " " &&
        characters[index + 1] !== " ";
      if (!isAlone) marks.add("spaces");
      text += isAlone ? " " : "\\u0020";
      continue;
    }
    const short = SHORT_ESCAPES[character];
    if (short !== undefined) {
      if (/[\n\r\t]/.test(character)) marks.add("control");
      text += short;
    } else if (PLAIN.test(character) || isReadable(character, readable)) text += character;
    else {
      marks.add(markOf(character));
      text += escaped(character);
    }
  }
  return { text, marks: [...marks] };
}

/** Whether a character may stand unescaped in rendered text: the set that every rendering keeps to. */
export function isSafeCharacter(character: string): boolean {
  return (
    /^[\x20-\x7e]$/.test(character) ||
    ACCENTED_LATIN.test(character) ||
    (isStableLetter(character) && WHOLE_TOKEN_SCRIPTS.some((script) => script.test(character)))
  );
}

/** The one script besides Latin in which this token can be read as it is; null where there is none. */
function readableScript(characters: readonly string[], original: string): RegExp | null {
  if (ASCII_LETTER.test(original)) return null;
  const letters = characters.filter((character) => LETTER.test(character));
  const script = WHOLE_TOKEN_SCRIPTS.find((each) => letters.some((letter) => each.test(letter)));
  if (script === undefined || !letters.every((letter) => script.test(letter))) return null;
  return letters.every((letter) => ASCII_LIKE.test(letter)) ? null : script;
}

function isReadable(character: string, script: RegExp | null): boolean {
  if (ACCENTED_LATIN.test(character)) return true;
  return script?.test(character) === true && isStableLetter(character) && !STROKE_LIKE.test(character);
}

/** A letter that is not another form of one: wide, narrow, circled and compatibility letters are. */
function isStableLetter(character: string): boolean {
  return LETTER.test(character) && character.normalize("NFKC") === character;
}

function markOf(character: string): TextMark {
  if (/^\p{Cc}$/u.test(character)) return "control";
  if (BIDI.test(character)) return "bidi";
  if (/^[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Z}\u2800]$/u.test(character)) return "invisible";
  if (/^\p{M}$/u.test(character)) return "combining";
  return /^[\p{L}\p{N}\p{P}\p{Sm}]$/u.test(character) ? "look_alike" : "unusual";
}

function escaped(character: string): string {
  let text = "";
  for (let i = 0; i < character.length; i += 1) {
    text += `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`;
  }
  return text;
}
