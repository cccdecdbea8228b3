const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/**
 * The texts between `<name>` and `</name>` in an XML answer, in their order; elements of one name are not nested there.
 */
export function xmlElements(xml: string, name: string): string[] {
  const found: string[] = [];
  const [open, close] = [`<${name}`, `</${name}>`];
  for (let at = xml.indexOf(open); at !== -1; at = xml.indexOf(open, at)) {
    const start = xml.indexOf(">", at) + 1;
    const isIt = /[\s>/]/.test(xml[at + open.length] ?? "") && start > 0;
    const isEmpty = xml[start - 2] === "/";
    const end = isIt && !isEmpty ? xml.indexOf(close, start) : -1;
    if (isIt && isEmpty) found.push("");
    else if (end !== -1) found.push(xml.slice(start, end));
    at = end === -1 ? at + open.length : end + close.length;
  }
  return found;
}

/** The text of the first element of that name, with entities resolved; undefined where there is none. */
export function xmlText(xml: string, name: string): string | undefined {
  const [text] = xmlElements(xml, name);
  return text?.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, named) => {
    if (named !== undefined) return ENTITIES[named] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
