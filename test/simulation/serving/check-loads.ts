import type { VersionState } from "../../../src/serving/version-status.ts";
import { type History, type Limits, type WishedModel, wishesOf } from "./history.ts";
import { type Copy, printOf, RETIRE_MS, type World } from "./world.ts";

/** Time that a copy whose load nobody wants any more may take before another load begins, in milliseconds. */
export const GRACE_MS = 1000;

/** Everything that decides whether a load is wanted. */
interface Wanted {
  readonly wished: readonly WishedModel[];
  /** The state of each version that was told last. */
  readonly states: ReadonlyMap<string, VersionState>;
  /** True while a client waits for a load or an unload. */
  readonly isOrdered: boolean;
}

/** P18: the load of what answers nothing yet is given up once other files are wanted, or none. */
export function checkWanted(world: World, { wished, states, isOrdered }: Wanted): void {
  for (const { slot, title, wish, isLoading, abandonedAt } of world.copies) {
    if (isOrdered || !isLoading || abandonedAt !== undefined || states.get(slot) !== "LOADING") continue;
    const versions = wished.find(({ name }) => name === wish.model)?.versions ?? [];
    if (!versions.some((one) => one.version === wish.version && printOf(one) === printOf(wish)))
      world.violate("P18", `${title} is being loaded, and other files are wanted`);
  }
}

/** P19: what needs a model that nothing ever served is not loaded before that. */
export function checkNeeds(world: World, { title, wish }: Copy, wasServed: (model: string) => boolean): void {
  const never = (wish.needs ?? []).filter((need) => !wasServed(need));
  if (never.length > 0) world.violate("P19", `${title} is loaded before ${never.join(", ")}`);
}

/** Everything that decides whether a load needs a place. */
interface Placed extends Pick<Limits, "loadThreads">, Pick<Wanted, "states"> {
  /** True if no model needs or asks another. */
  readonly isFlat: boolean;
}

/**
 * P10: what loads has a place. Only loads that are asked for by others, or that others need, need none: while nothing
 * needs or asks another, all are counted, else those of versions that nothing serves yet.
 */
export function checkPlaces(world: World, { loadThreads, isFlat, states }: Placed): void {
  const first = world.copies.filter(({ slot, isLoading, abandonedAt }) => {
    const isOver = abandonedAt !== undefined && world.time.now - abandonedAt >= GRACE_MS;
    return isLoading && !isOver && (isFlat || states.get(slot) === "LOADING");
  });
  if (first.length > loadThreads) world.violate("P10", `${first.map(({ title }) => title).join(", ")} load at once`);
}

/** P20: no load waits for memory that idle copies have; true if one does now. */
export function waitsInVain(world: World, modelMemory: number, isIdle: (copy: Copy) => boolean): boolean {
  const { copies, underWay } = world;
  const opening = copies.filter(({ state, abandonedAt }) => state === "opening" && abandonedAt === undefined);
  const waiting = opening.filter(
    ({ slot, wish }) => ![...underWay.keys()].some((name) => name.startsWith(`open ${slot} ${printOf(wish)} `)),
  );
  const inMemory = copies.filter(({ isInMemory }) => isInMemory);
  if (waiting.length === 0 || inMemory.some(({ state }) => state === "closing")) return false;
  const bytesOf = (some: readonly Copy[]) => some.reduce((sum, { wish }) => sum + (wish.bytes ?? 1), 0);
  const least = Math.min(...waiting.map(({ wish }) => wish.bytes ?? 1));
  return bytesOf(inMemory) - bytesOf(inMemory.filter(isIdle)) + least <= modelMemory;
}

/** P5: the models that are in memory, or on their way out of it. */
export function checkMemory(world: World, { modelMemory }: Pick<Limits, "modelMemory">): void {
  if (modelMemory === 0) return;
  const inMemory = world.copies.filter(({ isInMemory }) => isInMemory);
  const bytes = inMemory.reduce((sum, { wish }) => sum + (wish.bytes ?? 1), 0);
  if (bytes > modelMemory)
    world.violate("P5", `${inMemory.map(({ title }) => title).join(", ")} take ${bytes} of ${modelMemory} bytes`);
}

/** P21: what answers gets other hooks without being loaded again. */
export function checkHooksAlone(
  world: World,
  history: History,
  { copy, served }: { readonly copy: Copy; readonly served: Copy },
): void {
  const hasBoth = served.hooks !== undefined && copy.hooks !== undefined;
  // What was unloaded meanwhile may be loaded twice: for a request, and with its new hooks.
  if (!hasBoth || served.hooks === copy.hooks || served.wish.print !== copy.wish.print || mayPark(history)) return;
  world.violate("P21", `${copy.title} is loaded, though only its hooks are others than those of ${served.title}`);
}

/** A load that gets no memory, and who tells which copies give theirs. */
interface Refused {
  readonly copy: Copy;
  readonly isParked: (copy: Copy) => boolean;
}

/** P22: no load is refused for want of memory that copies which leave are about to give, unless they do not. */
export function checkRefused(world: World, history: History, { copy, isParked }: Refused): void {
  const { copies, time } = world;
  const { modelMemory } = history.limits;
  if (mayIdle(history)) return;
  const bytesOf = (some: readonly Copy[]) => some.reduce((sum, { wish }) => sum + (wish.bytes ?? 1), 0);
  const waiting = copies.filter(({ state }) => state === "opening");
  const leaving = copies.filter((one) => one.state === "closing" && one.isInMemory && isParked(one));
  const inTime = leaving.filter(({ closedAt }) => time.now - closedAt < RETIRE_MS - GRACE_MS);
  const least = bytesOf(copies.filter(({ isInMemory }) => isInMemory)) - bytesOf(inTime) + bytesOf(waiting);
  if (inTime.length > 0 && least <= modelMemory)
    world.violate("P22", `${copy.title} gets no memory, which ${inTime.map(({ title }) => title).join(", ")} leaves`);
}

function mayPark(history: History): boolean {
  return history.limits.modelMemory > 0 || mayIdle(history);
}

/** True if what answers may be unloaded after an idle time. */
function mayIdle(history: History): boolean {
  return history.limits.idleUnloadMs > 0 || wishesOf(history).some(({ idleMs = 0 }) => idleMs > 0);
}
