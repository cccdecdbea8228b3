import { TurnUse, turns } from "../../../src/platform/limits/event-loop-turns.ts";

/** Makes this turn of the event loop one that has no time left. */
export function useUpTheTurn(): void {
  turns.begin(new TurnUse());
  const end = performance.now() + 10;
  while (performance.now() < end);
}
