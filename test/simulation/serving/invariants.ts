import type { VersionState, VersionStatus } from "../../../src/serving/version-status.ts";
import {
  checkHooksAlone,
  checkMemory,
  checkNeeds,
  checkPlaces,
  checkRefused,
  checkWanted,
  GRACE_MS,
  waitsInVain,
} from "./check-loads.ts";
import { checkRest } from "./check-rest.ts";
import type { Clients, Wait } from "./clients.ts";
import type { Door } from "./door.ts";
import { shapeOfStall } from "./fault-shapes.ts";
import { type Command, type History, isThere, type WishedModel, wishesOf } from "./history.ts";
import { type Copy, RETIRE_MS, type World } from "./world.ts";

/** Time that anything may wait while nothing is under way, in milliseconds: a load waits for memory so long. */
const STALL_MS = 10_500;

/** States that may follow each other. */
const NEXT: Readonly<Record<VersionState, readonly VersionState[]>> = {
  START: ["START", "LOADING", "AVAILABLE", "END"],
  LOADING: ["LOADING", "START", "AVAILABLE", "END"],
  AVAILABLE: ["AVAILABLE", "UNLOADING"],
  UNLOADING: ["END"],
  END: ["START", "LOADING", "END"],
};

/** Everything that is checked after each step, and what it has to remember. */
export class Invariants {
  readonly #world: World;
  readonly #door: Door;
  readonly #clients: Clients;
  readonly #history: History;
  readonly #states = new Map<string, VersionState>();
  /** Versions that were available at some time. */
  readonly #served = new Set<string>();
  #wished: readonly WishedModel[] = [];
  #resolved = new Set<string>();
  /** Models that could be asked at some time, by name, with the last time at which they could. */
  readonly #everResolved = new Map<string, number>();
  /** The copies that answer without being loaded before. */
  readonly #resident = new Map<string, Copy>();
  /** Models that each command which is not over yet may take away: it unloads them, or does not wish them any more. */
  readonly #leaving = new Map<Command, ReadonlySet<string>>();
  /** Commands of those that were over at the last check. */
  #over: Command[] = [];
  #stalledSince: number | undefined;
  #vainSince: number | undefined;
  #isClosing = false;
  /** True if no model needs or asks another. */
  readonly #isFlat: boolean;
  /** Number of steps that the world had noted at the last check. */
  #checked = -1;

  constructor(parts: { world: World; door: Door; clients: Clients; history: History }) {
    this.#world = parts.world;
    this.#door = parts.door;
    this.#clients = parts.clients;
    this.#history = parts.history;
    const versions = wishesOf(parts.history).flatMap((model) => model.versions);
    this.#isFlat = versions.every(({ needs = [], calls = [] }) => needs.length + calls.length === 0);
    parts.door.onState((status) => this.#followState(status));
    parts.world.onOpen = (copy) => {
      if (this.#states.get(copy.slot) !== "AVAILABLE")
        checkNeeds(this.#world, copy, (need) => this.#everResolved.has(need) || this.#door.resolves(need));
      this.#checkOpened(copy);
    };
    parts.world.onRefused = (copy) => checkRefused(this.#world, this.#history, { copy, isParked: this.#isParked });
    parts.clients.onEnd = (command) => this.#over.push(command);
    parts.clients.onFailure = (wait, reason) => this.#checkFailure(wait, reason);
  }

  /** To be called before a command begins. */
  begin(command: Command): void {
    // Which models go with it shows only later, when some may be loaded again already.
    if (command.do === "unload") this.#leaving.set(command, new Set([command.model]));
    if (command.do === "unload with dependents") this.#leaving.set(command, this.#resolved);
    if (command.do !== "wish") return;
    this.#noteResident(this.#door.statuses());
    this.#wished = command.models;
    const names = new Set(command.models.filter(({ versions }) => versions.length > 0).map(({ name }) => name));
    for (const [other, left] of this.#leaving)
      if (other.do === "wish") this.#leaving.set(other, new Set([...left].filter((name) => !this.#isBack(name))));
    // It goes, even if others of its versions are wished before it has gone.
    this.#leaving.set(command, new Set([...this.#resolved].filter((name) => !names.has(name))));
  }

  /** True if a version is wished again, or still, that has not begun to go. */
  #isBack(name: string): boolean {
    const versions = this.#wished.find((model) => model.name === name)?.versions ?? [];
    return versions.some(({ version }) => this.#states.get(`${name}/${version}`) === "AVAILABLE");
  }

  /** From now on nothing has to be served. */
  close(): void {
    this.#isClosing = true;
    this.#noteResident(this.#door.statuses());
    this.#wished = [];
  }

  /** P9 and P6: once all is quiet, what is served is what was wished. */
  checkQuiet(): void {
    checkRest({ world: this.#world, door: this.#door, history: this.#history, wished: this.#wished });
    for (const { what } of this.#clients.waits) this.#world.violate("P2", `${what} never ends`);
  }

  /** Once it is closed nothing is left. */
  checkClosed(): void {
    for (const { title, state } of this.#world.copies)
      if (state !== "closed") this.#world.violate("P4", `${title} is ${state} after the end`);
    for (const { what } of this.#clients.waits) this.#world.violate("P2", `${what} never ends`);
  }

  /** Checks what holds at any time. */
  check(): void {
    this.#stall();
    this.#statistics();
    this.#waitInVain();
    if (this.#world.noted === this.#checked) return;
    this.#checked = this.#world.noted;
    const statuses = this.#door.statuses();
    this.#stayAvailable(statuses);
    this.#stayResident(statuses);
    this.#copies();
    checkWanted(this.#world, { wished: this.#wished, states: this.#states, isOrdered: this.#isOrdered });
    checkPlaces(this.#world, { ...this.#history.limits, isFlat: this.#isFlat, states: this.#states });
    checkMemory(this.#world, this.#history.limits);
    this.#readiness();
    this.#labels(statuses);
  }

  /** P13: statistics wait for nothing but what copies tell of themselves. */
  #statistics(): void {
    const isAsked = [...this.#clients.waits].some(({ what }) => what === "statistics");
    const isTold = [...this.#world.underWay.keys()].some((name) => name.startsWith("statistics "));
    if (isAsked && !isTold) this.#world.violate("P13", "statistics wait for something else than statistics");
  }

  /** True for a copy that answers, and would have to be loaded again for that. */
  readonly #isParked = ({ slot, number, wish: { model, version } }: Copy): boolean => {
    const isLast = this.#world.copies.findLast((copy) => copy.slot === slot)?.number === number;
    return isLast && this.#states.get(slot) === "AVAILABLE" && !this.#door.isResident(model, BigInt(version));
  };

  #waitInVain(): void {
    const { now } = this.#world.time;
    // A copy that was replaced is idle only once its last requests are over, and goes then.
    const isIdle = (copy: Copy) =>
      this.#resident.get(copy.slot) === copy && this.#door.isIdle(copy.wish.model, BigInt(copy.wish.version));
    const { modelMemory } = this.#history.limits;
    const isVain = modelMemory > 0 && waitsInVain(this.#world, modelMemory, isIdle);
    if (!isVain) this.#vainSince = undefined;
    else if (this.#vainSince === undefined) this.#vainSince = now;
    else if (now - this.#vainSince > GRACE_MS)
      this.#world.violate("P20", `a load waits for memory that idle copies have, for ${now - this.#vainSince} ms`);
  }

  #followState({ model, version, state }: VersionStatus): void {
    const slot = `${model}/${version}`;
    const before = this.#states.get(slot) ?? "START";
    this.#world.note(`${slot} ${before} → ${state}`);
    this.#states.set(slot, state);
    if (state === "AVAILABLE") this.#served.add(slot);
    if (state === "UNLOADING" && !this.#isClosing && !this.#isOrdered) this.#checkYielding(model);
    if (!NEXT[before].includes(state)) this.#world.violate("P14", `${slot} goes from ${before} to ${state}`);
  }

  /** P3: a stage's model that nobody wishes any more stays until what needs it is replaced, if that can be. */
  #checkYielding(need: string): void {
    if (this.#wished.some(({ name, versions }) => name === need && versions.length > 0)) return;
    const statuses = this.#door.statuses();
    for (const { name, versions } of this.#wished) {
      for (const { version, needs = [], calls = [] } of versions) {
        const status = statuses.find((one) => one.model === name && one.version === BigInt(version));
        const slot = `${name}/${version}`;
        const served = this.#world.copies.findLast((copy) => copy.slot === slot && copy.state === "loaded");
        const hasFailed = status === undefined || status.error !== undefined || this.#door.isUnloaded(name);
        if (hasFailed || [...needs, ...calls].includes(need) || served?.wish.needs?.includes(need) !== true) continue;
        this.#world.violate("P3", `${need} goes before ${served.title}, which needs it, is replaced`);
      }
    }
  }

  /** P3: who could be asked can be asked, unless nobody wants it to be. */
  #stayAvailable(statuses: readonly VersionStatus[]): void {
    const names = new Set(statuses.map(({ model }) => model));
    const resolved = new Set([...names].filter((name) => this.#door.resolves(name)));
    for (const name of this.#resolved) {
      if (resolved.has(name) || this.#isClosing || this.#mayLeave(name)) continue;
      const wished = this.#wished.find((model) => model.name === name)?.versions ?? [];
      if (wished.length > 0) this.#world.violate("P3", `${name} was available, and is not any more`);
    }
    // Also those that can be asked no more: they could be until now.
    for (const name of [...this.#resolved, ...resolved]) this.#everResolved.set(name, this.#world.time.now);
    this.#resolved = resolved;
    for (const command of this.#over.splice(0)) this.#leaving.delete(command);
  }

  #mayLeave(name: string): boolean {
    return this.#door.isUnloaded(name) || [...this.#leaving.values()].some((names) => names.has(name));
  }

  /** P11: two copies of a slot at most; those that do not end when they are told to are not counted. */
  #copies(): void {
    const { now } = this.#world.time;
    const bySlot = new Map<string, Copy[]>();
    for (const copy of this.#world.copies) {
      const isGone = copy.state === "closed" || copy.state === "closing";
      if (isGone || (copy.abandonedAt !== undefined && now - copy.abandonedAt >= GRACE_MS)) continue;
      bySlot.set(copy.slot, [...(bySlot.get(copy.slot) ?? []), copy]);
    }
    for (const [slot, copies] of bySlot) {
      const loading = copies.filter(({ isLoading, abandonedAt }) => isLoading && abandonedAt === undefined);
      // What answers may be loaded again on demand meanwhile.
      const mayLoad = this.#states.get(slot) === "AVAILABLE" ? 2 : 1;
      if (copies.length > 2 || loading.length > mayLoad)
        this.#world.violate("P11", `${slot} has ${copies.map(({ title, state }) => `${title} ${state}`).join(", ")}`);
    }
  }

  /** True while a client waits for a load or an unload. */
  get #isOrdered(): boolean {
    return [...this.#clients.waits].some(({ what }) => /^(un)?load of/.test(what));
  }

  /** P4: what is served as it is wanted is not loaded, unless a client asks for that or what it needs is another. */
  #checkOpened(copy: Copy): void {
    const { slot, title, wish } = copy;
    if (this.#isOrdered || this.#states.get(slot) !== "AVAILABLE" || (wish.needs ?? []).length > 0) return;
    // A copy that only its last requests still use does not serve.
    if (!this.#door.isResident(wish.model, BigInt(wish.version))) return;
    const loaded = this.#world.copies.filter((copy) => copy.slot === slot && copy.state === "loaded");
    const served = loaded.at(-1);
    if (served !== undefined) checkHooksAlone(this.#world, this.#history, { copy, served });
    const isServed = served !== undefined && served.wish.print === wish.print && served.hooks === wish.hooks;
    if (isServed) this.#world.violate("P4", `${title} is loaded again, though it is served`);
  }

  /** P3: what answers is not unloaded while its files are gone or others: it could not be loaded again. */
  #stayResident(statuses: readonly VersionStatus[]): void {
    for (const { model, version } of statuses) {
      const slot = `${model}/${version}`;
      // It may have been replaced, and what replaced it unloaded, in one step.
      const isNew = (one: Copy) => one.slot === slot && one.loadedAt === this.#world.time.now;
      const copy = this.#resident.has(slot) && (this.#world.copies.findLast(isNew) ?? this.#resident.get(slot));
      const isParked = this.#states.get(slot) === "AVAILABLE" && !this.#door.isResident(model, version);
      if (copy && isParked && !isThere(this.#wished, { ...copy.wish, hooks: copy.hooks }))
        this.#world.violate("P3", `${copy.title} is unloaded though it answers, and its files are gone`);
    }
    this.#noteResident(statuses);
  }

  #noteResident(statuses: readonly VersionStatus[]): void {
    this.#resident.clear();
    for (const { model, version } of statuses) {
      const slot = `${model}/${version}`;
      // One that it has replaced may have been loaded on demand while it was.
      const loaded = this.#world.copies.filter((one) => one.slot === slot && one.state === "loaded");
      const copy = loaded.toSorted((a, b) => (a.loadedAt ?? 0) - (b.loadedAt ?? 0)).at(-1);
      if (copy !== undefined && this.#door.isResident(model, version)) this.#resident.set(slot, copy);
    }
  }

  /** P3: a stage's model stays until whoever needs it has been replaced by files that do without it. */
  #checkFailure({ what, since }: Wait, reason: string): void {
    if (reason.includes("no request waits")) this.#world.violate("P2", `${what} is told that no request waits`);
    const missing = /The model "(.+)", which is a stage of (.+), is not available/.exec(reason);
    // Hooks of all versions are waited for together: what one lacked may have come meanwhile.
    if (missing === null || this.#isClosing || what.startsWith("reload hooks")) return;
    // A request that does not end keeps neither its copy for longer, nor what that needs.
    if (this.#world.time.now - since >= RETIRE_MS) return;
    const [, need = "", model = ""] = missing;
    const versions = this.#wished.find(({ name }) => name === model)?.versions ?? [];
    const isOwn =
      versions.length === 0 || versions.some(({ needs = [], calls = [] }) => [...needs, ...calls].includes(need));
    const hasFailed = this.#door.statuses().some((status) => status.model === model && status.error !== undefined);
    const wasThere = (this.#everResolved.get(need) ?? -1) >= since;
    if (isOwn || hasFailed || !wasThere || this.#mayLeave(need) || this.#mayLeave(model)) return;
    this.#world.violate("P3", `${what} fails since ${need} went before what does without it was there`);
  }

  /** P7: readiness never lies. */
  #readiness(): void {
    if (!this.#door.isReady()) return;
    const wished = this.#wished.filter(({ name, versions }) => versions.length > 0 && !this.#door.isUnloaded(name));
    const missing = wished.filter(({ name }) => !this.#resolved.has(name));
    const isLie = this.#history.limits.strictReadiness ? missing.length > 0 : this.#resolved.size === 0;
    if (isLie && missing.length > 0 && !this.#isClosing)
      this.#world.violate("P7", `ready without ${missing.map(({ name }) => name).join(", ")}`);
  }

  /** P15: a label means a version that could be asked at some time. */
  #labels(statuses: readonly VersionStatus[]): void {
    if (this.#history.limits.allowLabelsForUnavailable) return;
    for (const { model, version, labels } of statuses)
      if (labels.length > 0 && !this.#served.has(`${model}/${version}`))
        this.#world.violate("P15", `${labels.join(", ")} of ${model} means version ${version}, which was never served`);
  }

  /** P8: nothing waits while nothing at all is under way that it could wait for. */
  #stall(): void {
    const { underWay, copies, time } = this.#world;
    const { waits, held } = this.#clients;
    const loads = copies.filter(({ isLoading, abandonedAt }) => isLoading && abandonedAt === undefined);
    const isStalled = underWay.size === 0 && held.size === 0 && (waits.size > 0 || loads.length > 0);
    if (!isStalled) this.#stalledSince = undefined;
    else if (this.#stalledSince === undefined) this.#stalledSince = time.now;
    else if (time.now - this.#stalledSince > STALL_MS) {
      // Those that are nearly over first: they are what the others wait for.
      const byState = loads.toSorted((a, b) => (a.state < b.state ? 1 : -1));
      const who = [...[...waits].map(({ what }) => what), ...byState.map(({ title, state }) => `${title} ${state}`)];
      this.#world.violate(
        "P8",
        `nothing is under way for ${time.now - this.#stalledSince} ms, and there wait ${who.join(", ")}`,
        shapeOfStall(this.#world, this.#history.limits.modelMemory),
      );
      this.#stalledSince = undefined;
    }
  }
}
