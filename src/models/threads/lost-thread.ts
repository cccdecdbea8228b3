/** The end of a thread's use for one of its models. */
export interface LostThread {
  /** The event that ended it, to follow "it". */
  readonly why: string;
  /** The model of the thread that did that; `other`: nothing of this one runs. */
  readonly culprit: "this" | "other" | "unknown";
}

/**
 * A lost thread as the model with this id sees it; `culprit` is the id of the model that worked then, 0 = not known.
 */
export function toLostThread(id: number, why: string, culprit: number): LostThread {
  if (culprit === 0) return { why, culprit: "unknown" };
  return { why, culprit: culprit === id ? "this" : "other" };
}
