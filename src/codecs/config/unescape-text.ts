import { configError, type Place } from "./config-node.ts";

const ESCAPE = /\\(?:([abfnrtv?\\'"])|([0-7]{1,3})|[xX]([\dA-Fa-f]{1,2})|u([\dA-Fa-f]{4})|U([\dA-Fa-f]{8})|([\s\S]))/g;
const LETTERS: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};
const MAX_CODE_POINT = 0x10ffff;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Resolves the escapes of a text of protobuf's text format, whose octal and hexadecimal ones are bytes of UTF-8. Throws
 * `invalid_argument` for an unknown one.
 */
export function unescapeText(raw: string, place: Place): string {
  if (!raw.includes("\\")) return raw;
  // No byte of an escape takes less room where it is written.
  const bytes = Buffer.alloc(Buffer.byteLength(raw));
  let [length, end] = [0, 0];
  for (const match of raw.matchAll(ESCAPE)) {
    length += bytes.write(raw.slice(end, match.index), length);
    const escaped = unescapeOne(match, place);
    bytes.set(escaped, length);
    length += escaped.length;
    end = match.index + match[0].length;
  }
  length += bytes.write(raw.slice(end), length);
  try {
    return utf8.decode(bytes.subarray(0, length));
  } catch {
    throw configError(place, "A text's escapes are not valid UTF-8; expected text, not binary data.");
  }
}

function unescapeOne([written, letter, octal, hex, short, long]: RegExpExecArray, place: Place): Uint8Array {
  if (letter !== undefined) return Buffer.from(LETTERS[letter] ?? letter);
  if (octal !== undefined) return byteOf(Number.parseInt(octal, 8), written, place);
  if (hex !== undefined) return byteOf(Number.parseInt(hex, 16), written, place);
  const code = Number.parseInt(short ?? long ?? "", 16);
  if (code <= MAX_CODE_POINT) return Buffer.from(String.fromCodePoint(code));
  throw unknownEscape(written, place);
}

function byteOf(byte: number, written: string, place: Place): Uint8Array {
  if (byte <= 0xff) return Uint8Array.of(byte);
  throw unknownEscape(written, place);
}

function unknownEscape(written: string, place: Place) {
  return configError(place, `A text has the escape ${written}, which does not exist; write a backslash as \\\\.`);
}
