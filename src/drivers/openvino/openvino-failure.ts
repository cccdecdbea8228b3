import { publicText } from "../../errors.ts";

/** Kind of a failure, where that decides what is to be done. */
export type OpenvinoFailureKind = "failed" | "cancelled";

/** OpenVINO refused or failed. Its whole text is for the log; {@link failureText} is for people. */
export class OpenvinoFailure extends Error {
  override readonly name = "OpenvinoFailure";
  readonly kind: OpenvinoFailureKind;

  constructor(kind: OpenvinoFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Places in OpenVINO's sources where an error was thrown or checked, and sentences that say nothing. */
const NOISE =
  /^(Exception from \S+:\d+:?|Check '.*' failed at \S+:\d+:?|Failed to create plugin .*|Please, check your environment.*|)$/;
/** A node with the whole of its types, before what it is called. */
const NODE = /While validating node '.*?' with friendly_name '(.*?)':/g;
/** Words of the front ends before and after what they have to say. */
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
  return publicText(text.replace(NODE, 'in node "$1":').replace(FRAME, "").slice(0, MAX_LENGTH)).replace(
    /[.:\s]+$/,
    "",
  );
}
