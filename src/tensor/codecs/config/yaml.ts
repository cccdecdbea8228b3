import {
  type Alias,
  Composer,
  CST,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  type Scalar,
  stringify,
  visit,
  type YAMLMap,
} from "yaml";
import {
  type ConfigEntry,
  type ConfigNode,
  configError,
  MAX_CONFIG_DEPTH,
  MAX_CONFIG_NODES,
  type Place,
} from "./config-node.ts";

/**
 * Parses YAML 1.2, which includes JSON; undefined for a file without content. Throws `invalid_argument` with the place
 * of an error.
 */
export function parseYaml(text: string, file: string): ConfigNode | undefined {
  const lineCounter = new LineCounter();
  const place = (offset: number) => {
    const { line, col } = lineCounter.linePos(offset);
    return { file, line, column: col };
  };
  const [document, second] = parseYamlDocuments(text, { lineCounter, place });
  if (document === undefined) return undefined;
  const [error] = document.errors;
  if (error !== undefined) throw configError(place(error.pos[0]), firstLine(error.message));
  if (second !== undefined) throw configError(place(second.range[0]), "A second document begins here; expected one.");
  return document.contents === null ? undefined : new YamlReader(document, place).read(document.contents);
}

/** Turns the parser's nodes into ours; those that aliases repeat count each time. */
class YamlReader {
  readonly #targets: ReadonlyMap<Alias, Node>;
  readonly #place: (offset: number) => Place;
  #count = 0;

  constructor(document: Document.Parsed, place: (offset: number) => Place) {
    this.#targets = aliasTargets(document);
    this.#place = place;
  }

  read(node: Node | null, at?: Place, depth = 0): ConfigNode {
    const place = at ?? this.#placeOf(node);
    if (depth > MAX_CONFIG_DEPTH) throw configError(place, `Values are nested deeper than ${MAX_CONFIG_DEPTH}.`);
    if (++this.#count > MAX_CONFIG_NODES)
      throw configError(place, `The file has more than ${MAX_CONFIG_NODES} values.`);
    if (isAlias(node)) {
      const target = this.#targets.get(node);
      if (target === undefined) throw configError(place, `There is no anchor "${node.source}" before here.`);
      return this.read(target, place, depth + 1);
    }
    if (isMap(node)) return { kind: "map", place, entries: this.#entries(node, place, depth) };
    if (isSeq(node)) return { kind: "list", place, items: node.items.map((item) => this.#item(item, place, depth)) };
    return scalarOf(node as Scalar | null, place);
  }

  #entries({ items }: YAMLMap, place: Place, depth: number): readonly ConfigEntry[] {
    const keys = new Set<unknown>();
    return items.map((pair) => {
      const entry = this.#entry(pair as Pair, place, depth);
      if (keys.has(entry.key))
        throw configError(entry.place, `Map keys must be unique, and "${entry.key}" is there twice.`);
      keys.add(entry.key);
      return entry;
    });
  }

  #item(item: unknown, parent: Place, depth: number): ConfigNode {
    if (isPair(item)) return { kind: "map", place: parent, entries: [this.#entry(item, parent, depth)] };
    return this.read(item as Node | null, undefined, depth + 1);
  }

  #entry({ key, value }: Pair, parent: Place, depth: number): ConfigEntry {
    if (!isScalar(key)) throw configError(parent, "A key is not a single value; expected a name.");
    const place = this.#placeOf(key);
    const written = value === null ? place : undefined;
    return { key: textOf(key), place, value: this.read(value as Node | null, written, depth + 1) };
  }

  #placeOf(node: Node | null): Place {
    return this.#place(node?.range?.[0] ?? 0);
  }
}

/**
 * The nodes that the aliases of a document name: of each name the last one before the alias. The library looks through
 * the whole document for each alias.
 */
function aliasTargets(document: Document.Parsed): ReadonlyMap<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(document, {
    Node: (_, node) => {
      const target = isAlias(node) ? anchors.get(node.source) : undefined;
      if (target !== undefined) targets.set(node as Alias, target);
      if (!isAlias(node) && node.anchor) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

function scalarOf(node: Scalar | null, place: Place): ConfigNode {
  const value = node?.value ?? null;
  if (value === null) return { kind: "scalar", place, value: null, text: "" };
  const known = ["string", "number", "bigint", "boolean"].includes(typeof value);
  const text = textOf(node as Scalar);
  return { kind: "scalar", place, value: known ? (value as string | number | bigint | boolean) : text, text };
}

function textOf({ value, source }: Scalar): string {
  return typeof value === "string" ? value : (source ?? String(value));
}

function firstLine(message: string): string {
  return message.split("\n", 1)[0] as string;
}

/** Line counter of a text, and how to tell a place in it. */
interface YamlPlaces {
  readonly lineCounter: LineCounter;
  readonly place: (offset: number) => Place;
}

/**
 * The documents of a text in YAML. Throws `invalid_argument` if values are nested too deeply, before they are
 * composed: that takes the call stack, and a regular expression that V8 compiles at its end ends the process.
 */
function parseYamlDocuments(text: string, { lineCounter, place }: YamlPlaces): readonly Document.Parsed[] {
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

/** Readers of YAML 1.1, as most are, take `1000:0` for a number and `on` for true: such texts get quotes. */
const WRITTEN = { lineWidth: 0, aliasDuplicateObjects: false, compat: "yaml-1.1" } as const;

/** Writes plain values as documents of one YAML file. */
export function writeYaml(...documents: readonly object[]): string {
  return documents.map((document) => stringify(document, WRITTEN)).join("---\n");
}
