import type { ForeignFlags } from "./foreign-flag.ts";
import { KSERVE_FLAGS } from "./kserve-flags.ts";
import { OVMS_FLAGS } from "./openvino-flags.ts";
import { SIMPLE_TENSORFLOW_FLAGS } from "./simple-tensorflow-serving-flags.ts";
import { TENSORFLOW_FLAGS } from "./tensorflow-flags.ts";

const TABLES: Readonly<Record<string, ForeignFlags>> = {
  "kserving tensorflow-model-server": TENSORFLOW_FLAGS,
  "kserving ovms": OVMS_FLAGS,
  "kserving simple-tensorflow-serving": SIMPLE_TENSORFLOW_FLAGS,
  "kserving kserve": KSERVE_FLAGS,
};

/** Our commands that take a flag of another server as it is: `--rest_api_port=8501`. */
export function commandsWithFlag(argument: string): readonly string[] {
  const [, name = ""] = /^--([^=]+)/.exec(argument) ?? [];
  return Object.keys(TABLES).filter((command) => Object.hasOwn(TABLES[command] as object, name));
}
