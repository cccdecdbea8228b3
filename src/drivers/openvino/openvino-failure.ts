import { publicText } from "../../errors.ts";
import { withoutEnd } from "../../text/without-end.ts";

/**
 * Kind of a failure, where the kind determines the handling: `refused` before anything ran, for what was given;
 * `failed` in a run or another call; `cancelled` when asked to.
 */
export type OpenvinoFailureKind = "refused" | "failed" | "cancelled";

/** OpenVINO refused or failed. Its whole text is for the log; {@link failureText} is for people. */
export class OpenvinoFailure extends Error {
  override readonly name = "OpenvinoFailure";
  readonly kind: OpenvinoFailureKind;

  constructor(kind: OpenvinoFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Places in OpenVINO's sources where an error was thrown or checked, and sentences without information. */
const NOISE =
  /^(Exception from \S+:\d+:?|Check '.*' failed at \S+:\d+:?|Failed to create plugin .*|Please, check your environment.*|)$/;
/** A node with its full types, before its name. */
const NODE = /While validating node '.*?' with friendly_name '(.*?)':/g;
/** Texts of the front ends before and after their messages. */
const FRAME =
  /FrontEnd API failed with \w+: |Model wasn't fully converted\. Summary: (-- )?| To facilitate the conversion of unsupported operations, .*/g;
const MAX_LENGTH = 600;

/**
 * OpenVINO's message, without places in its sources and paths of this machine, on one line and without the point at its
 * end.
 */
export function failureText(reason: unknown): string {
  const whole = reason instanceof Error ? reason.message : String(reason);
  const lines = whole
    .slice(0, 4 * MAX_LENGTH)
    .split("\n")
    .map((line) => line.trim());
  const said = lines.filter((line) => !NOISE.test(line)).join(" ");
  const text = said === "" ? lines.filter((line) => line !== "").join(" ") : said;
  const told = publicText(text.replace(NODE, 'in node "$1":').replace(FRAME, "").slice(0, MAX_LENGTH));
  return withoutEnd(told, ".: \t\n");
}
