import type { VersionStatus } from "../../../src/serving/version-status.ts";
import type { Door } from "./door.ts";
import { type History, type WishedModel, wishesOf } from "./history.ts";
import { type Copy, printOf, type Wish, type World } from "./world.ts";

/** The world once nothing goes on any more, with all that is wished of it. */
interface AtRest {
  readonly world: World;
  readonly door: Door;
  readonly history: History;
  readonly wished: readonly WishedModel[];
}

/** P9 and P6: what is served is what was wished, as far as it can be. */
export function checkRest(on: AtRest): void {
  const statuses = on.door.statuses();
  for (const { name, versions } of on.wished)
    for (const wish of versions) checkReached(on, statuses, { ...wish, model: name });
  checkGone(on, statuses);
}

function checkReached(on: AtRest, statuses: readonly VersionStatus[], wish: Wish): void {
  const { world, door, history } = on;
  const slot = `${wish.model}/${wish.version}`;
  const status = statuses.find(({ model, version }) => model === wish.model && version === BigInt(wish.version));
  if (door.isUnloaded(wish.model)) return;
  if (status === undefined) world.violate("P6", `${slot} is wished, and is not known`);
  if (status?.error !== undefined) checkGivenUp(on, status, wish);
  if (status === undefined || status.error !== undefined) return;
  if (status.state !== "AVAILABLE") world.violate("P9", `${slot} rests at ${status.state} without an error`);
  const loaded = world.copies.filter((copy) => copy.slot === slot && copy.state === "loaded");
  const mayRest = history.limits.modelMemory > 0 || mayIdle(history, wish.model);
  if (loaded.length > 1 || (loaded.length === 0 && !mayRest))
    world.violate("P9", `${slot} has ${loaded.length} copies`);
  for (const { title, inputs } of loaded)
    for (const [need, input] of inputs)
      if (door.resolves(need) && door.inputOf(need) !== input)
        world.violate("P9", `${title} was loaded with another ${need} than the one that answers`);
  for (const copy of loaded)
    if (copy.wish.print !== wish.print || copy.hooks !== wish.hooks)
      world.violate("P9", `${slot} serves ${copy.title} hooks ${copy.hooks}, and ${printOf(wish)} is wished`);
}

/** True if it had an idle time after which it is unloaded, at any time. */
function mayIdle(history: History, name: string): boolean {
  const times = wishesOf(history).filter((model) => model.name === name);
  return times.some(({ idleMs }) => (idleMs ?? history.limits.idleUnloadMs) > 0);
}

/** P9: what rests with an error has loaded once, was tried as often as it should, or lacks a model that it needs. */
function checkGivenUp(
  { world, door, history }: AtRest,
  { model, version, state, error }: VersionStatus,
  wish: Wish,
): void {
  const slot = `${model}/${version}`;
  if (wish.isRefused || (wish.needs ?? []).some((need) => !door.resolves(need))) return;
  const isReached = (copy: Copy) =>
    copy.slot === slot && copy.loadedAt !== undefined && copy.wish.print === wish.print && copy.hooks === wish.hooks;
  if (world.copies.some(isReached)) return;
  // A client's load has one try, and that of a model which needs one that a client has unloaded loads both.
  const mayLoadOthers = history.commands.some((command) => command.do.startsWith("unload"));
  const isOrdered = history.commands.some((one) => one.do === "load" && (mayLoadOthers || one.model === model));
  const least = 1 + (isOrdered ? 0 : history.limits.loadRetries);
  const tries =
    world.attempts("open", `${slot} ${printOf(wish)}`) +
    world.attempts("hooks", `${slot} ${wish.hooks}`) +
    world.attempts("prepare", `${slot} ${wish.print}`);
  if (tries < least)
    world.violate("P9", `${slot} rests at ${state} (${error?.message}) after ${tries} of ${least} tries`);
}

function checkGone({ world, door, wished: all }: AtRest, statuses: readonly VersionStatus[]): void {
  for (const { model, version, state, error } of statuses) {
    const wished = all.find(({ name }) => name === model)?.versions ?? [];
    const isWished = wished.some((one) => BigInt(one.version) === version) && !door.isUnloaded(model);
    if (!isWished && state !== "END" && !(state === "AVAILABLE" && wished.length > 0))
      world.violate("P9", `${model}/${version} rests at ${state}${error ? ` (${error.message})` : ""}, unwished`);
  }
}
