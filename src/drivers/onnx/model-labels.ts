/** An element of a Python list, `'person'`, or a member of a dict, `0: 'person'`. */
const ELEMENT = /(?:(\d{1,9}): )?(?:'((?:[^'\\]|\\.)*)(?:'|$)|"((?:[^"\\]|\\.)*)(?:"|$))/g;

/**
 * The names of a model's classes that its exporter noted: `labels`, separated by commas, or `names`, the list or dict
 * that Ultralytics writes (https://docs.ultralytics.com/modes/export); undefined where there are none.
 */
export function modelLabels({ labels, names }: Readonly<Record<string, string>>): readonly string[] | undefined {
  if (labels !== undefined) return labels.split(",").map((label) => label.trim());
  const elements = [...(names ?? "").matchAll(ELEMENT)];
  const isInOrder = elements.every(([, index], place) => index === undefined || Number(index) === place);
  if (elements.length === 0 || !isInOrder) return undefined;
  return elements.map(([, , single, double]) => (single ?? double ?? "").replace(/\\(.)/g, "$1"));
}
