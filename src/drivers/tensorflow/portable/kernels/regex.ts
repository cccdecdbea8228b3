import * as tf from "@tensorflow/tfjs-core";
import type { KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import { asStrings } from "../values.ts";
import { mapStrings } from "./string.ts";

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

/** Within brackets; undefined for anything but one plain set, such as `[[:alpha:]]`. */
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

const STRICT_UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const ENCODER = new TextEncoder();

function decodeText(bytes: Uint8Array): string {
  try {
    return STRICT_UTF8.decode(bytes);
  } catch {
    throw new Error("a string is not valid UTF-8, as the pattern needs");
  }
}

const regexReplace: KernelFactory = (node) => {
  const isGlobal = node.flag("replace_global", true);
  const pattern = patternOf(node, isGlobal ? "gu" : "u");
  if (isGlobal && new RegExp(pattern.source, "u").test(""))
    return node.refuse(`of a pattern that matches nothing, "${node.text("pattern")}"`);
  const rewrite = node.text("rewrite");
  if (/\\[^\d\\]|\\$/.test(rewrite)) return node.refuse(`with the rewrite "${rewrite}"`);
  const replace = (...groups: (string | undefined)[]) =>
    rewrite.replace(/\\(.)/g, (_, which: string) => (which === "\\" ? "\\" : (groups[Number(which)] ?? "")));
  return (x) => mapStrings(x, (bytes) => ENCODER.encode(decodeText(bytes).replace(pattern, replace)));
};

const regexFullMatch: KernelFactory = (node) => {
  const { source } = patternOf(node, "u");
  const whole = new RegExp(`^(?:${source})$`, "u");
  return (x) => {
    const { elements, shape } = asStrings(x);
    return tf.tensor(
      elements.map((bytes) => Number(whole.test(decodeText(bytes)))),
      [...shape],
      "bool",
    );
  };
};

function patternOf(node: OpNode, flags: string): RegExp {
  const text = node.text("pattern");
  return toPattern(text, flags) ?? node.refuse(`of the pattern "${text}"`);
}

/** Patterns on strings. */
export const REGEX_KERNELS: KernelTable = { StaticRegexReplace: regexReplace, StaticRegexFullMatch: regexFullMatch };
