import type { ServableSource } from "../../src/repository/load-servable.ts";
import { ServableSlot } from "../../src/serving/servable-slot.ts";
import { loadPipeline } from "../helpers/run-pipeline.ts";

/** A slot with a pipeline in it. */
export async function slotOf(source: Partial<ServableSource>): Promise<ServableSlot> {
  const load = async () => (await loadPipeline(source)).servable;
  const servable = await load();
  return new ServableSlot(servable, load, servable);
}
