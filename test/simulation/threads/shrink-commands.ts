import type { SceneCommand, SceneHistory, SceneReport } from "./scene.ts";

/** A history of fewer commands that breaks the same promise. */
export async function shrinkCommands<Command extends SceneCommand, History extends SceneHistory<Command>>(
  history: History,
  simulate: (history: History) => Promise<SceneReport>,
): Promise<History> {
  const [broken] = (await simulate(history)).violations;
  let shortest = history;
  for (let size = Math.ceil(history.commands.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let start = 0; start < shortest.commands.length; ) {
      const shorter = { ...shortest, commands: shortest.commands.toSpliced(start, size) };
      const { violations } = await simulate(shorter);
      if (violations.some(({ id }) => id === broken?.id)) shortest = shorter;
      else start += size;
    }
  }
  return shortest;
}
