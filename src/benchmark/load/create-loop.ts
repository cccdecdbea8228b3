import { ClosedLoop } from "./closed-loop.ts";
import type { Loop, LoopParts } from "./loop.ts";
import { OpenLoop } from "./open-loop.ts";

/** Begins the loop of a job. */
export function createLoop(parts: LoopParts): Loop {
  return parts.job.rate === undefined ? new ClosedLoop(parts) : new OpenLoop(parts, parts.job.rate);
}
