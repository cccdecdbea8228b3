import { setTimeout as sleep } from "node:timers/promises";
import type { CheckContext } from "./check-context.ts";
import type { Release } from "./release.ts";

/** Asks for predictions of a model of each format, on every wire through the Service. */
export async function checkFormats({ report, subjects }: CheckContext, release: Release): Promise<void> {
  for (const subject of subjects) {
    const load = await release.load({ subject });
    await sleep(5000);
    report.add(`the chart's Service: ${subject.model}`, await load.stop());
  }
}
