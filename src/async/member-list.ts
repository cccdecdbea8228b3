/** A member of at most one {@link MemberList} at a time, which carries its own place there. */
export class ListMember {
  /** For the list alone; undefined = it is in none. */
  before: ListMember | undefined;
  /** Likewise. */
  after: ListMember | undefined;
}

/**
 * Members in the order in which they came. For what comes and goes with each request: a Set or a Map leaves its old tables to
 * the collector, which keeps whatever they name alive until it collects the whole heap.
 */
export class MemberList<Member extends ListMember> {
  /** Stands before the first member and after the last one. */
  readonly #edge = new ListMember();
  #size = 0;

  constructor() {
    this.#edge.before = this.#edge;
    this.#edge.after = this.#edge;
  }

  get size(): number {
    return this.#size;
  }

  /** The member that came first. */
  get first(): Member | undefined {
    return this.#size === 0 ? undefined : (this.#edge.after as Member);
  }

  /** Adds a member at the end; one that is in a list stays where it is. */
  add(member: Member): void {
    if (member.after !== undefined) return;
    const last = this.#edge.before as ListMember;
    member.before = last;
    member.after = this.#edge;
    last.after = member;
    this.#edge.before = member;
    this.#size++;
  }

  /** Takes a member of this list out; one that is in no list is left alone. */
  delete(member: Member): void {
    const { before, after } = member;
    if (before === undefined || after === undefined) return;
    before.after = after;
    after.before = before;
    // A place that is kept would keep its neighbours alive, and those theirs.
    member.before = undefined;
    member.after = undefined;
    this.#size--;
  }

  /** The members as they are now. */
  list(): Member[] {
    const members: Member[] = [];
    for (let at = this.#edge.after; at !== undefined && at !== this.#edge; at = at.after) members.push(at as Member);
    return members;
  }
}
