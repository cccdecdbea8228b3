import type { ConfigNode } from "../../codecs/config/config-node.ts";
import { describeNode } from "./describe-node.ts";
import type { Findings } from "./findings.ts";

/** A key whose value is refused. */
interface RefusedValue {
  readonly key: string;
  readonly node: ConfigNode;
  readonly findings: Findings;
}

/** Adds an error to the findings; returns undefined, for the value. */
export function refuseValue({ key, node, findings }: RefusedValue, expected: string, hint = ""): undefined {
  findings.error(node.place, `"${key}" is ${describeNode(node)}; expected ${expected}.${hint}`);
}
