/** Something that waits for its turn. */
interface Prioritized {
  /** 1 = highest; 0 or absent = none, after all others. */
  readonly priority?: number | undefined;
}

/** Puts an item behind all of its priority and those above, which are in order already. */
export function insertByPriority<Item extends Prioritized>(queue: Item[], item: Item): void {
  let index = queue.length;
  while (index > 0 && rankOf(queue[index - 1]!) > rankOf(item)) index--;
  queue.splice(index, 0, item);
}

/** A number by which priorities are in order, the highest first. */
export function rankOf({ priority = 0 }: Prioritized): number {
  return priority === 0 ? Number.POSITIVE_INFINITY : priority;
}
