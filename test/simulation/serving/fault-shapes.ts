import type { Copy, World } from "./world.ts";

/** That of a load which holds the memory that its own warm-up waits for. */
export function shapeOfStall({ copies }: World, modelMemory: number): string | undefined {
  const loads = copies.filter(({ isLoading, abandonedAt }) => isLoading && abandonedAt === undefined);
  const inMemory = copies.filter(({ isInMemory }) => isInMemory);
  const used = inMemory.reduce((sum, { wish }) => sum + (wish.bytes ?? 1), 0);
  const lacks = loads.filter(({ state, wish }) => state === "opening" && used + (wish.bytes ?? 1) > modelMemory);
  const warming = loads.filter(({ state, wish }) => state === "warming" && wish.warms);
  const isOwn = warming.some(({ wish }) => lacks.some((lacking) => asks(copies, wish, lacking.wish.model)));
  return isOwn && modelMemory > 0 ? "a warm-up holds the memory that its own need waits for" : undefined;
}

/** True if requests to one version end up at a model, by whatever copies there are. */
function asks(copies: readonly Copy[], { needs = [], calls = [] }: Copy["wish"], model: string): boolean {
  const others = copies.filter(({ wish }) => [...needs, ...calls].includes(wish.model));
  return [...needs, ...calls].includes(model) || others.some(({ wish }) => asks(copies, wish, model));
}
