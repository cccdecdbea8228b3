/** A member of at most one {@link MemberList} at a time, which stores its own position there. */
export class ListMember {
  /** Only for the list; undefined = it is in none. */
  before: ListMember | undefined = undefined;
  /** Likewise. */
  after: ListMember | undefined = undefined;
}

/**
 * Members in the order of arrival, for objects that come and go with each request: a Set or a Map leaves its old tables
 * to the garbage collector, and these keep their contents alive until the whole heap is collected.
 */
export class MemberList<Member extends ListMember> {
  /** Sentinel before the first member and after the last one. */
  readonly #edge = new ListMember();
  #size = 0;

  constructor() {
    this.#edge.before = this.#edge;
    this.#edge.after = this.#edge;
  }

  get size(): number {
    return this.#size;
  }

  /** The oldest member. */
  get first(): Member | undefined {
    return this.#size === 0 ? undefined : (this.#edge.after as Member);
  }

  /** Adds a member at the end; a member of a list keeps its place. */
  add(member: Member): void {
    if (member.after !== undefined) return;
    const last = this.#edge.before as ListMember;
    member.before = last;
    member.after = this.#edge;
    last.after = member;
    this.#edge.before = member;
    this.#size++;
  }

  /** True for a member of this list, or of another one. */
  has(member: Member): boolean {
    return member.after !== undefined;
  }

  /** Removes a member of this list; has no effect for others. */
  delete(member: Member): void {
    const { before, after } = member;
    if (before === undefined || after === undefined) return;
    before.after = after;
    after.before = before;
    // Otherwise the member would keep its former neighbours alive, and so on.
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
