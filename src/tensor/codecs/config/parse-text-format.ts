import {
  type ConfigEntry,
  type ConfigMap,
  type ConfigNode,
  type ConfigScalar,
  configError,
  MAX_CONFIG_DEPTH,
} from "./config-node.ts";
import { type TextToken, TextTokens } from "./text-tokens.ts";

/**
 * Parses protobuf's text format without knowing the message: all its liberties (comments, `:` left out before `{`,
 * `<>`, `;` and `,` between fields, both quotes, texts in several parts, `[1, 2]`). An extension's name keeps its
 * brackets. Throws `invalid_argument` with the place of what it cannot read.
 */
export function parseTextFormat(text: string, file: string): ConfigMap {
  const tokens = new TextTokens(text, file);
  const { place } = tokens.peek();
  return { kind: "map", place, entries: parseFields(tokens, undefined, 0) };
}

/** The fields up to a closing mark, which is taken; undefined = up to the end of the file. */
function parseFields(tokens: TextTokens, close: string | undefined, depth: number): ConfigEntry[] {
  const entries: ConfigEntry[] = [];
  for (;;) {
    const token = tokens.peek();
    if (token.kind === "end" && close === undefined) return entries;
    if (close !== undefined && tokens.takeMark(close)) return entries;
    entries.push(parseField(tokens, close, depth));
    tokens.takeMark(";", ",");
  }
}

function parseField(tokens: TextTokens, close: string | undefined, depth: number): ConfigEntry {
  const token = tokens.next();
  const key = token.text === "[" && token.kind === "mark" ? parseExtension(tokens) : fieldName(token, close);
  const colon = tokens.takeMark(":");
  const { kind, text } = tokens.peek();
  const isNested = kind === "mark" && ["{", "<", "["].includes(text);
  if (colon === undefined && !isNested)
    throw configError(tokens.peek().place, `"${key}" is followed by ${show(tokens.peek())}; expected ":" and a value.`);
  return { key, place: token.place, value: parseValue(tokens, key, depth) };
}

function fieldName(token: TextToken, close: string | undefined): string {
  if (token.kind === "word") return token.text;
  const closing = close === undefined ? "" : `, or "${close}"`;
  throw configError(token.place, `${show(token)} is not a field's name; expected one${closing}.`);
}

/** `[package.extension]` or `[domain/package.Message]`. */
function parseExtension(tokens: TextTokens): string {
  let name = "";
  for (;;) {
    const token = tokens.next();
    if (token.kind === "mark" && token.text === "]") return `[${name}]`;
    const isPart = token.kind === "word" || (token.kind === "mark" && "/.-".includes(token.text));
    if (!isPart) throw configError(token.place, `${show(token)} is not part of an extension's name; expected "]".`);
    name += token.text;
  }
}

function parseValue(tokens: TextTokens, key: string, depth: number): ConfigNode {
  const token = tokens.next();
  tokens.countValue(token);
  if (depth >= MAX_CONFIG_DEPTH) throw configError(token.place, `"${key}" is nested deeper than ${MAX_CONFIG_DEPTH}.`);
  if (token.kind === "mark") {
    if (token.text === "{" || token.text === "<") {
      const close = token.text === "{" ? "}" : ">";
      return { kind: "map", place: token.place, entries: parseFields(tokens, close, depth + 1) };
    }
    if (token.text === "[") return { kind: "list", place: token.place, items: parseList(tokens, key, depth) };
  }
  return parseScalar(tokens, token, key);
}

function parseList(tokens: TextTokens, key: string, depth: number): ConfigNode[] {
  const items: ConfigNode[] = [];
  if (tokens.takeMark("]")) return items;
  for (;;) {
    items.push(parseValue(tokens, key, depth + 1));
    if (tokens.takeMark("]")) return items;
    const after = tokens.next();
    if (after.kind === "mark" && after.text === ",") continue;
    throw configError(after.place, `${show(after)} stands in the list of "${key}"; expected "," or "]".`);
  }
}

function parseScalar(tokens: TextTokens, token: TextToken, key: string): ConfigScalar {
  const { kind, text, place } = token;
  if (kind === "string") return joinTexts(tokens, token);
  if (kind === "word") return wordOf(token, 1);
  if (kind === "number") return { kind: "scalar", place, value: numberOf(text, 1), text };
  if (kind === "mark" && text === "-") {
    const next = tokens.next();
    if (next.kind === "number") return { kind: "scalar", place, value: numberOf(next.text, -1), text: `-${next.text}` };
    if (next.kind === "word" && INFINITY.test(next.text)) return wordOf(next, -1);
    throw configError(next.place, `${show(next)} stands behind "-"; expected a number.`);
  }
  throw configError(place, `${show(token)} is not a value of "${key}"; expected a text in quotes, a number or "{".`);
}

/** Texts side by side are one. */
function joinTexts(tokens: TextTokens, first: TextToken): ConfigScalar {
  let value = first.text;
  while (tokens.peek().kind === "string") value += tokens.next().text;
  return { kind: "scalar", place: first.place, value, text: value };
}

const INFINITY = /^inf(?:inity)?f?$/i;

function wordOf({ text, place }: TextToken, sign: 1 | -1): ConfigScalar {
  if (INFINITY.test(text)) return { kind: "scalar", place, value: sign * Number.POSITIVE_INFINITY, text };
  if (/^(?:true|True|t)$/.test(text)) return { kind: "scalar", place, value: true, text };
  if (/^(?:false|False|f)$/.test(text)) return { kind: "scalar", place, value: false, text };
  return { kind: "scalar", place, value: text, text, isWord: true };
}

/** An integer as bigint, in the base of its prefix: 0x for 16, otherwise 0 for 8. */
function numberOf(text: string, sign: 1 | -1): number | bigint {
  if (/^0[0-7]+$/.test(text)) return BigInt(`0o${text.slice(1)}`) * BigInt(sign);
  if (/^(?:0[xX][\dA-Fa-f]+|\d+)$/.test(text)) return BigInt(text) * BigInt(sign);
  return Number.parseFloat(text) * sign;
}

function show({ kind, text }: TextToken): string {
  return kind === "end" ? text : JSON.stringify(text);
}
