import { dirname, relative, resolve } from "node:path";
import type { OutputChunk, Plugin } from "rolldown";

const SOURCE = resolve("src");
/** Stands for the way from a built file to `dist`. */
const TO_BUILT = "__to_built__";

/** Gives each module the URL that it would have as a file of its own, by which others are found from it. */
export const ownUrls: Plugin = {
  name: "own-urls",
  transform: {
    filter: { id: /\.ts$/, code: "import.meta.url" },
    handler(code, id) {
      const own = JSON.stringify(`${TO_BUILT}/${relative(SOURCE, id).replace(/ts$/, "js")}`);
      const ends = metaUrls(this.parse(code, { lang: "ts" })).toSorted((a, b) => b - a);
      // From the last on, so that the places of the others stay.
      return ends.reduce((text, end) => {
        const start = end - "import.meta.url".length;
        return `${text.slice(0, start)}new URL(${own}, import.meta.url).href${text.slice(end)}`;
      }, code);
    },
  },
};

/** Ends of the expressions `import.meta.url`; a text that has these words is none. */
function metaUrls(node: unknown): number[] {
  if (typeof node !== "object" || node === null) return [];
  const { type, object, property, end } = node as Record<string, { type?: string; name?: string }>;
  const isUrl = String(type) === "MemberExpression" && object?.type === "MetaProperty" && property?.name === "url";
  return isUrl ? [Number(end)] : Object.values(node).flatMap(metaUrls);
}

/** A chunk's code in which such URLs lead from where it is written. */
export function placeUrls({ code, fileName }: Pick<OutputChunk, "code" | "fileName">): string {
  return code.replaceAll(TO_BUILT, relative(dirname(fileName), ".") || ".");
}
