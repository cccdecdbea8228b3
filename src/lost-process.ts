import type { ErrorDetail } from "./errors.ts";

const TYPE = "type.googleapis.com/google.rpc.ErrorInfo";
/** Tags of ErrorInfo.reason and ErrorInfo.domain. */
const [REASON, DOMAIN] = [0x0a, 0x12] as const;

/** A `google.rpc.ErrorInfo` of a request that was lost since the process that ran its model ended under it. */
export const LOST_PROCESS: ErrorDetail = {
  type: TYPE,
  value: Buffer.from([...text(REASON, "MODEL_PROCESS_ENDED"), ...text(DOMAIN, "kserving")]).toString("base64"),
};

/** Checks if the details of an error have a {@link LOST_PROCESS}, through however many threads they came. */
export function hasLostProcess(details: readonly ErrorDetail[] | undefined): boolean {
  return details?.some(({ type, value }) => type === TYPE && value === LOST_PROCESS.value) ?? false;
}

function text(tag: number, value: string): number[] {
  return [tag, value.length, ...Buffer.from(value)];
}
