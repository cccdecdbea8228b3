import { expect, it } from "vitest";
import { ListMember, MemberList } from "../../../src/platform/async/member-list.ts";

class Named extends ListMember {
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }
}

const names = (list: MemberList<Named>) => list.list().map(({ name }) => name);

it("keeps members in the order in which they came", () => {
  const [a, b, c] = [new Named("a"), new Named("b"), new Named("c")];
  const list = new MemberList<Named>();
  for (const member of [a, b, c]) list.add(member);
  expect(names(list)).toEqual(["a", "b", "c"]);
  expect(list.first).toBe(a);
  list.delete(b);
  list.delete(a);
  expect(names(list)).toEqual(["c"]);
  list.add(a);
  expect([names(list), list.size]).toEqual([["c", "a"], 2]);
});

it("takes no member twice, and ignores the end of one that is not there", () => {
  const member = new Named("a");
  const list = new MemberList<Named>();
  list.delete(member);
  list.add(member);
  list.add(member);
  expect(list.size).toBe(1);
  list.delete(member);
  list.delete(member);
  expect([list.size, list.first]).toEqual([0, undefined]);
});

it("forgets the neighbours of a member that left, so that it keeps none of them alive", () => {
  const [a, b, c] = [new Named("a"), new Named("b"), new Named("c")];
  const list = new MemberList<Named>();
  for (const member of [a, b, c]) list.add(member);
  list.delete(b);
  expect([b.before, b.after]).toEqual([undefined, undefined]);
});
