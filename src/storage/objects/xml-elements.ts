const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/**
 * The texts between `<name>` and `</name>` in an XML answer, in their order; elements of one name are not nested there.
 * An element without an end is the last one, so that each byte is looked at once.
 */
export function xmlElements(xml: string, name: string): string[] {
  const found: string[] = [];
  const [open, close] = [`<${name}`, `</${name}>`];
  for (let at = xml.indexOf(open); at !== -1; at = xml.indexOf(open, at)) {
    at += open.length;
    if (!/[\s>/]/.test(xml[at] ?? "")) continue;
    const start = xml.indexOf(">", at) + 1;
    const isEmpty = xml[start - 2] === "/";
    const end = isEmpty ? start : xml.indexOf(close, start);
    if (start === 0 || end === -1) break;
    found.push(xml.slice(start, end));
    at = isEmpty ? end : end + close.length;
  }
  return found;
}

/** The text of the first element of that name, with entities resolved; undefined if there is none. */
export function xmlText(xml: string, name: string): string | undefined {
  const [text] = xmlElements(xml, name);
  return text?.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, named) => {
    if (named !== undefined) return ENTITIES[named] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
