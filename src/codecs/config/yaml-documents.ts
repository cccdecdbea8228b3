import { Composer, CST, type Document, type LineCounter, Parser } from "yaml";
import { configError, MAX_CONFIG_DEPTH, type Place } from "./config-node.ts";

/** Line counter of a text, and how to tell a place in it. */
export interface YamlPlaces {
  readonly lineCounter: LineCounter;
  readonly place: (offset: number) => Place;
}

/**
 * The documents of a text in YAML. Throws `invalid_argument` where values are nested too deeply, before they are
 * composed: that takes the call stack, and a regular expression that V8 compiles at its end ends the process.
 */
export function parseYamlDocuments(text: string, { lineCounter, place }: YamlPlaces): readonly Document.Parsed[] {
  const tokens = [...new Parser(lineCounter.addNewLine).parse(text)];
  const tooDeep = findTooDeep(tokens);
  if (tooDeep !== undefined)
    throw configError(place(tooDeep.offset), `Values are nested deeper than ${MAX_CONFIG_DEPTH}.`);
  // The library compares each key with all before it; the reader finds equal ones by itself.
  const options = {
    lineCounter,
    intAsBigInt: true,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
  } as const;
  return [...new Composer(options).compose(tokens)] as Document.Parsed[];
}

/** The first list or map found within too many others. */
function findTooDeep(tokens: readonly CST.Token[]): CST.Token | undefined {
  let level = tokens.flatMap((token) => (token.type === "document" ? collectionsIn([token.value]) : []));
  // The innermost list may be empty, and values without lists within them are counted where they are read.
  for (let depth = 0; depth <= MAX_CONFIG_DEPTH; depth++) {
    level = level.flatMap(({ items }) => collectionsIn(items.flatMap(({ key, value }) => [key, value])));
  }
  return level[0];
}

type Collection = CST.BlockMap | CST.BlockSequence | CST.FlowCollection;

function collectionsIn(tokens: readonly (CST.Token | null | undefined)[]): Collection[] {
  return tokens.filter((token): token is Collection => CST.isCollection(token));
}
