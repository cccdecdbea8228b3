/**
 * The bytes of base64 in the standard alphabet, or undefined for any other text. White space is skipped, and the
 * padding may be left out, but is right if it is there.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  return decodePacked(text) ?? (/\s/.test(text) ? decodePacked(withoutSpaces(text)) : undefined);
}

const SPACE = 0x20;
const [TAB, CARRIAGE_RETURN] = [0x09, 0x0d];

/**
 * A text of ASCII without its white space; others are no base64, and stay. To replace spaces by a pattern takes many
 * times the text's memory, if each stands alone.
 */
export function withoutSpaces(text: string): string {
  if (Buffer.byteLength(text) !== text.length) return text;
  const bytes = Buffer.from(text, "latin1");
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    // What lies between them are the other spaces of ASCII.
    if (byte !== SPACE && (byte < TAB || byte > CARRIAGE_RETURN)) bytes[length++] = byte;
  }
  return bytes.toString("latin1", 0, length);
}

/**
 * Node takes the URL's alphabet too, and the low bytes of other characters; whatever else it passes over makes the
 * result shorter. To look at each character would take ten times as long as the decoding.
 */
function decodePacked(text: string): Uint8Array | undefined {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const digits = text.length - padding;
  if (digits % 4 === 1 || (padding > 0 && text.length % 4 !== 0)) return undefined;
  if (text.includes("-") || text.includes("_") || Buffer.byteLength(text) !== text.length) return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.length === Math.floor((digits * 3) / 4) ? bytes : undefined;
}
