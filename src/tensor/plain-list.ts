const PLAIN = Symbol("plain");

/**
 * Marks the lists in parsed JSON that would be taken for a tensor's data. A tensor without elements is all that JSON
 * can look like: `{"dtype":"bytes","shape":[0],"data":[]}`. The mark lies on the list itself: a registry of millions of
 * them would be searched by each collection of garbage.
 */
export function markPlainLists(json: unknown): void {
  if (typeof json !== "object" || json === null) return;
  if (Array.isArray(json)) {
    for (let index = 0; index < json.length; index++) markPlainLists(json[index]);
    return;
  }
  markPlainData(json);
  for (const name in json) markPlainLists((json as Record<string, unknown>)[name]);
}

/** Marks the list of one object alone, as {@link markPlainLists} does. */
export function markPlainData(json: object): void {
  const { dtype, shape, data } = json as {
    readonly dtype?: unknown;
    readonly shape?: unknown;
    readonly data?: unknown;
  };
  if (typeof dtype === "string" && Array.isArray(shape) && Array.isArray(data) && data.length === 0) {
    Object.defineProperty(data, PLAIN, { value: true });
  }
}

/** Checks that this very list was in JSON that {@link markPlainLists} saw. */
export function isPlainList(list: object): boolean {
  return PLAIN in list;
}
