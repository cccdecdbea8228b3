/** Letters that stand for classes, in RE2's meaning: of ASCII alone. */
const CLASSES: Readonly<Record<string, string>> = { d: "0-9", w: "0-9A-Za-z_", s: "\\t\\n\\f\\r " };
/** Letters that stand for one character. */
const CONTROLS: Readonly<Record<string, string>> = { n: "\\n", t: "\\t", r: "\\r", f: "\\f", v: "\\v" };

/**
 * The regular expression that means in JavaScript what a pattern means to RE2, as TensorFlow uses it; undefined for a
 * pattern with anything but literals, classes, groups, alternatives, repetitions and anchors.
 */
export function toPattern(text: string, flags: string): RegExp | undefined {
  const parts: string[] = [];
  for (let rest = text; rest !== ""; ) {
    const [token, translated] = readToken(rest) ?? [];
    if (token === undefined || translated === undefined) return undefined;
    parts.push(translated);
    rest = rest.slice(token.length);
  }
  try {
    return new RegExp(parts.join(""), flags);
  } catch {
    return undefined;
  }
}

/** The first token of a pattern and what it is in JavaScript. */
function readToken(text: string): readonly [token: string, translated: string | undefined] | undefined {
  const set = /^\[(\^?)((?:\\[\s\S]|[^\\\]])+)\]/.exec(text);
  if (set !== null) return [set[0], readSet(set[1]!, set[2]!)];
  const plain = /^(?:\((?:\?:)?|[)|^$]|(?:[*+?]|\{\d+(?:,\d*)?\})\??)/.exec(text)?.[0];
  if (plain !== undefined) return plain === "(" && text.startsWith("(?") ? undefined : [plain, plain];
  if (text.startsWith(".")) return [".", "[^\\n]"];
  const escaped = /^\\([\s\S])/u.exec(text);
  if (escaped !== null) return [escaped[0], readEscape(escaped[1]!)];
  const letter = /^[^\\[\]{}]/u.exec(text)?.[0];
  return letter === undefined ? undefined : [letter, toLiteral(letter)];
}

function readEscape(letter: string): string | undefined {
  const positive = CLASSES[letter];
  if (positive !== undefined) return `[${positive}]`;
  const negative = CLASSES[letter.toLowerCase()];
  if (negative !== undefined) return `[^${negative}]`;
  if (letter === "b") return "\\b";
  return CONTROLS[letter] ?? (/[!-/:-@[-`{-~]/.test(letter) ? toLiteral(letter) : undefined);
}

/** Within brackets; undefined for what is not plainly one set, such as `[[:alpha:]]`. */
function readSet(negation: string, content: string): string | undefined {
  const parts: string[] = [];
  for (const [item] of content.matchAll(/\\[\s\S]|[\s\S]/gu)) {
    const letter = item.length > 1 && item.startsWith("\\") ? item.slice(1) : undefined;
    if (letter === undefined) parts.push(item === "-" ? "-" : toLiteral(item));
    else {
      const translated =
        CLASSES[letter] ?? CONTROLS[letter] ?? (/[!-/:-@[-`{-~]/.test(letter) ? toLiteral(letter) : undefined);
      if (translated === undefined) return undefined;
      parts.push(translated);
    }
  }
  return content.includes("[:") ? undefined : `[${negation}${parts.join("")}]`;
}

function toLiteral(letter: string): string {
  return `\\u{${(letter.codePointAt(0) as number).toString(16)}}`;
}
