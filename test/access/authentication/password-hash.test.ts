import { expect, test } from "vitest";
import {
  hashPassword,
  isSameHash,
  matchesHash,
  parsePasswordHash,
} from "../../../src/access/authentication/password-hash.ts";
import { CHEAP } from "../auth-fixture.ts";

test("a hash tells its password from others, in whatever form its letters are", async () => {
  const text = await hashPassword("caf\u00e9", CHEAP);
  expect(text).toMatch(/^\$scrypt\$ln=4,r=8,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  expect(await hashPassword("caf\u00e9", CHEAP)).not.toBe(text);
  const hash = parsePasswordHash(text);
  expect(await matchesHash("cafe\u0301", hash)).toBe(true);
  expect(await matchesHash("cafe", hash)).toBe(false);
});

test("a long password is taken as it is, since the order of its marks would take too long", async () => {
  // Half a million marks that belong before as many others.
  const long = `a${"\u0301".repeat(500_000)}${"\u0323".repeat(500_000)}`;
  const hash = parsePasswordHash(await hashPassword(long, CHEAP));
  expect(await matchesHash(long, hash)).toBe(true);
  expect(await matchesHash(`${long}a`, hash)).toBe(false);
});

test("hashes of passlib are taken", async () => {
  // passlib.hash.scrypt.using(rounds=4).hash("open sesame")
  const hash = "$scrypt$ln=4,r=8,p=1$dO6d874XgnBOybmXEgLAuA$deN+QUMosKcbS7utOJzSf3jEabVJ1Q5liYyKgiLx+5o";
  expect(await matchesHash("open sesame", parsePasswordHash(hash))).toBe(true);
});

test.each([
  ["$2y$05$abcdefghijklmnopqrstuv", "is not $scrypt"],
  ["secret", "is not $scrypt"],
  ["$scrypt$ln=30,r=8,p=1$AAAA$AAAA", "costs"],
  ["$scrypt$ln=17,r=8,p=90$AAAA$AAAA", "costs"],
  ["$scrypt$ln=14,r=0,p=1$AAAA$AAAA", "costs"],
  ["$scrypt$ln=14,r=1,p=0$AAAA$AAAA", "costs"],
  ["$scrypt$ln=0,r=8,p=1$AAAA$AAAA", "costs"],
  // Of no byte, which every password would have, and of one less than is taken.
  ["$scrypt$ln=14,r=8,p=5$AAAA$A", "has 0 bytes; expected 32, a whole line"],
  [`$scrypt$ln=14,r=8,p=5$AAAA$${"A".repeat(20)}`, "has 15 bytes"],
])("%s is refused, without being told", (text, message) => {
  expect(() => parsePasswordHash(text)).toThrow(message);
  expect(() => parsePasswordHash(text)).not.toThrow(text);
});

const HASH = "A".repeat(43);

test.each([
  ["256 MB", "ln=18,r=8,p=1", "ln=18,r=9,p=1"],
  ["64 times the work of 16 MB", "ln=14,r=8,p=64", "ln=14,r=8,p=65"],
  ["as little as there is", "ln=1,r=1,p=1", "ln=1,r=1,p=0"],
])("a hash may cost %s, and no more or less", (_, taken, refused) => {
  expect(parsePasswordHash(`$scrypt$${taken}$AAAA$${HASH}`).hash).toHaveLength(32);
  expect(() => parsePasswordHash(`$scrypt$${refused}$AAAA$${HASH}`)).toThrow("costs");
});

test("a hash of sixteen bytes is taken", () => {
  expect(parsePasswordHash(`$scrypt$ln=14,r=8,p=5$AAAA$${"A".repeat(22)}`).hash).toHaveLength(16);
});

test.each([
  ` $scrypt$ln=14,r=8,p=5$AAAA$${HASH}`,
  `$scrypt$ln=14,r=8,p=5$AAAA$${HASH} `,
  `$scrypt$ln=14,r=8,p=5$$${HASH}`,
])("%j is not a hash", (text) => {
  expect(() => parsePasswordHash(text)).toThrow("is not $scrypt");
});

test("hashes are the same with the same salt and costs alone", () => {
  const hash = (cost: string, salt = "AAAA", end = "A") =>
    parsePasswordHash(`$scrypt$${cost}$${salt}$${"A".repeat(42)}${end}`);
  const one = hash("ln=4,r=8,p=1");
  expect(isSameHash(hash("ln=4,r=8,p=1"), one)).toBe(true);
  const others = [
    ...["ln=5,r=8,p=1", "ln=4,r=9,p=1", "ln=4,r=8,p=2"].map((cost) => hash(cost)),
    ...[hash("ln=4,r=8,p=1", "BAAA"), hash("ln=4,r=8,p=1", "AAAA", "E"), undefined],
  ];
  expect(others.map((other) => isSameHash(other, one))).toEqual(others.map(() => false));
});

test("letters of a password of 1024 characters may have any form, and of a longer one none", async () => {
  for (const [length, isSame] of [
    [1024, true],
    [1025, false],
  ] as const) {
    const hash = parsePasswordHash(await hashPassword(`${"x".repeat(length - 2)}e\u0301`, CHEAP));
    expect(await matchesHash(`${"x".repeat(length - 2)}\u00e9`, hash)).toBe(isSame);
  }
});
