import type { ForeignCommandName } from "../command-names.ts";
import type { ForeignProgram } from "./foreign-program.ts";
import { IE_SERVING } from "./ie-serving.ts";
import { KSERVE } from "./kserve.ts";
import { OVMS } from "./ovms.ts";
import { SIMPLE_TENSORFLOW_SERVING } from "./simple-tensorflow-serving.ts";
import { TENSORFLOW_MODEL_SERVER } from "./tensorflow-model-server.ts";

/** The programs of other servers, by our commands for them. */
export const FOREIGN_PROGRAMS: Readonly<Record<ForeignCommandName, ForeignProgram>> = {
  "tensorflow-model-server": TENSORFLOW_MODEL_SERVER,
  ovms: OVMS,
  ie_serving: IE_SERVING,
  "simple-tensorflow-serving": SIMPLE_TENSORFLOW_SERVING,
  kserve: KSERVE,
};
