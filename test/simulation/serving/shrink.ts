import type { Command, History, WishedModel, WishedVersion } from "./history.ts";
import { type OpenDoor, simulate } from "./simulate.ts";

/** Runs at most: a history that is nearly as short as it can be is good enough. */
const MAX_RUNS = 1500;

/**
 * Makes a failing history as short as it gets while its first violation stays of one kind: leaves out commands, models,
 * versions and what is said of them, and faults.
 */
export async function shrink(history: History, openDoor?: OpenDoor): Promise<History> {
  const first = (await simulate(history, { openDoor })).violations[0];
  if (first === undefined) return history;
  let [best, runs] = [history, 0];
  const isSame = async (one: History) =>
    runs++ < MAX_RUNS && (await simulate(one, { openDoor })).violations[0]?.id === first.id;
  for (let isShorter = true; isShorter; ) {
    isShorter = false;
    for (let size = best.commands.length; size >= 1; size = Math.floor(size / 2))
      for (let from = best.commands.length - size; from >= 0; from -= size) {
        const one = { ...best, commands: best.commands.toSpliced(from, size) };
        if (await isSame(one)) [best, isShorter] = [one, true];
      }
    for (let one = await firstOf(simpler(best), isSame); one !== undefined; one = await firstOf(simpler(best), isSame))
      [best, isShorter] = [one, true];
  }
  return best;
}

async function firstOf(all: Iterable<History>, is: (one: History) => Promise<boolean>): Promise<History | undefined> {
  for (const one of all) if (await is(one)) return one;
  return undefined;
}

function* simpler(history: History): Generator<History> {
  const { faults, commands, limits } = history;
  for (const [kind, ends = {}] of Object.entries(faults))
    for (const [end, weight] of Object.entries(ends))
      if (weight > 0) yield { ...history, faults: { ...faults, [kind]: { ...ends, [end]: 0 } } };
  for (const [index, command] of commands.entries())
    for (const one of simplerCommands(command)) yield { ...history, commands: commands.with(index, one) };
  const plain = {
    ...limits,
    loadRetries: 0,
    loadTimeoutMs: 0,
    idleUnloadMs: 0,
    modelMemory: 0,
    strictReadiness: false,
  };
  for (const [name, value] of Object.entries(plain))
    if (limits[name as keyof typeof plain] !== value) yield { ...history, limits: { ...limits, [name]: value } };
}

function* simplerCommands(command: Command): Generator<Command> {
  if (command.do === "ask") {
    const { bodyMs: _, ...noBody } = command;
    const { leavesAfterMs: __, ...stays } = command;
    const { queueTimeoutMs: ___, ...patient } = command;
    yield* [noBody, stays, patient].filter((one) => Object.keys(one).length < Object.keys(command).length);
  }
  if (command.do !== "wish") return;
  for (const [index, model] of command.models.entries()) {
    yield { ...command, models: command.models.toSpliced(index, 1) };
    for (const one of simplerModels(model)) yield { ...command, models: command.models.with(index, one) };
  }
}

function* simplerModels(model: WishedModel): Generator<WishedModel> {
  const { labels: _, idleMs: __, ...plain } = model;
  if (Object.keys(plain).length < Object.keys(model).length) yield plain;
  for (const [index, version] of model.versions.entries()) {
    if (model.versions.length > 1) yield { ...model, versions: model.versions.toSpliced(index, 1) };
    for (const one of simplerVersions(version)) yield { ...model, versions: model.versions.with(index, one) };
  }
}

function* simplerVersions(version: WishedVersion): Generator<WishedVersion> {
  const { print, needs = [], ...rest } = version;
  for (const [index] of needs.entries()) yield { ...version, needs: needs.toSpliced(index, 1) };
  for (const name of ["hooks", "warms", "isFetched", "takes", "isRefused"] as const) {
    const { [name]: value, ...without } = rest;
    if (value) yield { ...without, print, needs };
  }
}
