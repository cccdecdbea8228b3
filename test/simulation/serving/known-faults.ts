import type { History } from "./history.ts";
import { DAY } from "./quiet-history.ts";

/** A fault of the code that is simulated which is known, and not mended yet. */
export interface KnownFault {
  readonly what: string;
  /** The reason why it is there. */
  readonly reason: string;
  /** The promise that it breaks. */
  readonly violates: string;
  /** The circumstances in which it does, as who checks the promise tells them. */
  readonly shape: string;
  /** The shortest history that shows it. */
  readonly history: History;
}

/** A test fails for one that does not show any more. */
export const KNOWN_FAULTS: readonly KnownFault[] = [
  {
    what: "a load waits a minute for memory that it holds itself",
    reason:
      "What warms up with another model that is not loaded holds its own share meanwhile; that model's load waits as long as other loads run, which is this one. Who waits would have to be known to who reserves.",
    violates: "P8",
    shape: "a warm-up holds the memory that its own need waits for",
    history: {
      ...DAY,
      limits: { ...DAY.limits, modelMemory: 40, loadThreads: 2 },
      commands: [
        { at: 0, do: "wish", models: [{ name: "tower", versions: [{ version: 1, print: "p1", bytes: 20 }] }] },
        {
          at: 1000,
          do: "wish",
          models: [
            { name: "a", versions: [{ version: 1, print: "p2", bytes: 10 }] },
            { name: "tower", versions: [{ version: 1, print: "p3", bytes: 20, needs: ["a"], warms: true }] },
          ],
        },
      ],
    },
  },
];

/** True for a violation that one of them explains. */
export function isKnown({ id, shape }: { readonly id: string; readonly shape?: string | undefined }): boolean {
  return KNOWN_FAULTS.some((fault) => fault.violates === id && fault.shape === shape);
}
