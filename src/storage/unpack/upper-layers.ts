import { failedPrecondition } from "../../errors.ts";

const WHITEOUT = ".wh.";
const OPAQUE = ".wh..wh..opq";
/** Maximum number of files and whiteouts of one layer. */
const MAX_NAMES = 10_000;
/** Longer names cannot be files. */
const MAX_LENGTH = 4096;

/**
 * The names in the layers of an image that have been unpacked, from the last layer to the first: below them no file is
 * taken that they replace or remove. https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts
 */
export class UpperLayers {
  readonly #taken = new Set<string>();
  readonly #folders = new Set<string>();
  readonly #own = new Set<string>();

  /** Checks if a layer's file is the image's, and below a folder such as `models/`; whiteouts never are. */
  takes(entry: string, within: string): boolean {
    const name = entry.replace(/^(?:\.?\/)+/, "");
    const hidden = hiddenBy(name);
    const place = hidden === undefined ? name : hidden && `${hidden}/`;
    const isNear = place.startsWith(within) || (hidden !== undefined && within.startsWith(place));
    if (!isNear) return false;
    if (name.length > MAX_LENGTH) throw failedPrecondition(`a name in a layer has more than ${MAX_LENGTH} letters`);
    if (hidden === undefined && this.#has(name)) return false;
    if (this.#own.size === MAX_NAMES) throw failedPrecondition(`a layer has more than ${MAX_NAMES} files`);
    this.#own.add(hidden ?? name);
    return hidden === undefined;
  }

  /** Ends a layer: a whiteout counts for the layers below its own alone. */
  endLayer(): void {
    for (const name of this.#own) {
      this.#taken.add(name);
      for (const folder of foldersOf(name)) this.#folders.add(folder);
    }
    this.#own.clear();
  }

  #has(name: string): boolean {
    if (this.#taken.has("") || this.#taken.has(name) || this.#folders.has(name)) return true;
    for (const folder of foldersOf(name)) if (this.#taken.has(folder)) return true;
    return false;
  }
}

/** The file or folder that a whiteout removes, the empty name for all; undefined for a file. */
function hiddenBy(name: string): string | undefined {
  const start = name.lastIndexOf("/") + 1;
  if (name.slice(start) === OPAQUE) return name.slice(0, Math.max(0, start - 1));
  return name.startsWith(WHITEOUT, start) ? name.slice(0, start) + name.slice(start + WHITEOUT.length) : undefined;
}

function* foldersOf(name: string): Generator<string> {
  for (let at = name.lastIndexOf("/"); at > 0; at = name.lastIndexOf("/", at - 1)) yield name.slice(0, at);
}
