/** The operator that a guard is for, and what it takes. */
export interface GuardedNode {
  readonly operator: string;
  readonly name: string;
  readonly need: string;
}

const MARK = "kserving guard";
const BREAK = "\u0001";

/** The name of a node that was added to a model to refuse what another one cannot bear; `key` makes it unique. */
export function toGuardName({ operator, name, need }: GuardedNode, key: string): string {
  return [MARK, operator, name, need, key].join(BREAK);
}

/** Reads such a name; undefined for other names. */
export function fromGuardName(text: string): GuardedNode | undefined {
  const [mark, operator = "", name = "", need = ""] = text.split(BREAK, 4);
  return mark === MARK ? { operator, name, need } : undefined;
}
