/** Strings, which are left as they are, and whole numbers that JavaScript may round. */
const LONG = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|$)|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;
/** Before a long number that has become a string; no text begins with it. */
const MARK = "\uE000";
const MARKED = new RegExp(`^${MARK}(-?\\d+)$`);

/** Reads JSON; whole numbers of 16 digits and more are BigInts. */
export function readExactJson(text: string): unknown {
  const marked = text.replace(LONG, (found) => (found.startsWith('"') ? found : `"${MARK}${found}"`));
  return JSON.parse(marked, (_, value) => {
    const [, digits] = (typeof value === "string" && MARKED.exec(value)) || [];
    return digits === undefined ? value : BigInt(digits);
  });
}
