import type { NodeDef } from "./graph-def.ts";

/** Conditions under which a node has a value, such as `pred:0 true`. */
type Conditions = ReadonlySet<string>;

const ALWAYS: Conditions = new Set();
const SWITCH = /^(Ref)?Switch$/;
const MERGE = /^(Ref)?Merge$/;
const ENTER = /^(Ref)?Enter$/;
const EXIT = /^(Ref)?Exit$/;
/** Operations on checkpoints, which a frozen graph does not have with it. */
const CHECKPOINT = /^(Restore|Save|MergeV2Checkpoints)/;
/** Variables, which have no value in a graph without a checkpoint. */
const VARIABLE = /^(Variable(V2)?|VarHandleOp)$/;

/**
 * The nodes that have no value in some run, or in none: those in a branch that is not taken, in a loop, or behind a
 * checkpoint or a variable (TensorFlow 1's control flow: a branch begins with Switch and ends with Merge).
 * Fetching one fails the whole run.
 */
export function findConditionalNodes(nodes: readonly NodeDef[]): ReadonlySet<string> {
  if (!nodes.some(({ op }) => SWITCH.test(op) || ENTER.test(op) || isMissing(op))) return new Set();
  const conditions = new ConditionsOfNodes(nodes);
  const isSwitch = new Set(nodes.filter(({ op }) => SWITCH.test(op)).map(({ name }) => name));
  return new Set(nodes.map(({ name }) => name).filter((name) => conditions.of(name).size > 0 || isSwitch.has(name)));
}

class ConditionsOfNodes {
  readonly #nodes: ReadonlyMap<string, NodeDef>;
  readonly #known = new Map<string, Conditions>();

  constructor(nodes: readonly NodeDef[]) {
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
  }

  /** Depth first without recursion, since graphs are deep; what a loop leads back to counts as known already. */
  of(name: string): Conditions {
    const pending = [name];
    const entered = new Set<string>();
    for (let next = pending.at(-1); next !== undefined; next = pending.at(-1)) {
      const node = this.#nodes.get(next);
      const missing = entered.has(next)
        ? []
        : sourcesOf(node).filter((source) => !this.#known.has(source) && !entered.has(source));
      entered.add(next);
      pending.push(...missing);
      if (missing.length > 0) continue;
      pending.pop();
      if (node !== undefined) this.#known.set(next, this.#compute(node));
    }
    return this.#known.get(name) ?? ALWAYS;
  }

  #compute(node: NodeDef): Conditions {
    const given = new Set(node.input.flatMap((input) => [...this.#given(input)]));
    if (MERGE.test(node.op)) return withoutBoth(given);
    if (EXIT.test(node.op)) return new Set([...given].filter((condition) => !condition.startsWith(LOOP)));
    if (ENTER.test(node.op)) given.add(LOOP);
    if (isMissing(node.op)) given.add("checkpoint");
    return given;
  }

  /** A Switch has its value at one of two outputs, whatever it is taken by. */
  #given(input: string): Conditions {
    const source = sourceOf(input);
    const node = this.#nodes.get(source);
    const known = this.#known.get(source) ?? ALWAYS;
    if (node === undefined || !SWITCH.test(node.op) || input.startsWith("^")) return known;
    const predicate = node.input[1] ?? "";
    const isLoop = this.#nodes.get(sourceOf(predicate))?.op === "LoopCond";
    return new Set([...known, `${isLoop ? LOOP : ""}${predicate} ${input.endsWith(":1")}`]);
  }
}

const LOOP = "loop ";

function isMissing(op: string): boolean {
  return CHECKPOINT.test(op) || VARIABLE.test(op);
}

/** Of a Merge, whose inputs are the ends of both branches. */
function withoutBoth(conditions: Conditions): Conditions {
  const isMet = (condition: string) => {
    const [predicate] = condition.split(/ (?:true|false)$/);
    return conditions.has(`${predicate} true`) && conditions.has(`${predicate} false`);
  };
  return new Set([...conditions].filter((condition) => !isMet(condition)));
}

function sourcesOf(node: NodeDef | undefined): string[] {
  return (node?.input ?? []).map(sourceOf);
}

function sourceOf(input: string): string {
  return input.replace(/^\^|:\d+$/g, "");
}
