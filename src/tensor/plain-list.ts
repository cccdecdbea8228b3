const plain = new WeakSet<object>();

/**
 * Remembers the empty lists in parsed JSON. An empty list is all that JSON and a tensor without elements have in common:
 * without this, `{"dtype":"bytes","shape":[0],"data":[]}` from a client would be taken for a tensor.
 */
export function markPlainLists(json: unknown): void {
  if (typeof json !== "object" || json === null) return;
  if (Array.isArray(json) && json.length === 0) plain.add(json);
  for (const member of Array.isArray(json) ? json : Object.values(json)) markPlainLists(member);
}

/** Whether this very list was in JSON that {@link markPlainLists} saw. */
export function isPlainList(list: object): boolean {
  return plain.has(list);
}
