import { expect, test } from "vitest";
import { cutJson, parsePieces, STEP_SIZE } from "../../src/pipeline/json-cutter.ts";
import { isPlainList } from "../../src/tensor/plain-list.ts";

const { signal } = new AbortController();

async function parse(text: string, pieceBytes: number): Promise<unknown> {
  const json = Buffer.from(text);
  return parsePieces({ json, steps: cutJson(json, pieceBytes) }, signal);
}

const DEEP = `${'{"a":['.repeat(40)}1${"]}".repeat(40)}`;
const TEXTS = [
  "{}",
  ' {"x" : [ ] , "y":{ }}\n',
  '{"x":[1,2,[3,[4.5e-3,-0]],{"y":null,"z":[true,false]}],"last":"ü€😀"}',
  `{"x":[${Array.from({ length: 500 }, (_, index) => `{"i":${index},"t":"text, [${index}]"}`)}]}`,
  JSON.stringify({ long: 'a"\\\n€😀\u0001'.repeat(50), list: ["ß".repeat(70), "\ud83d"], after: 1 }),
  '{"\\u0061\\"[{,:":"\\ud83d\\ude00\\u00e9\\\\","b":"\\u0000\\ud83d"}',
  '{"__proto__":{"a":[1,2,3,4,5,6,7,8]},"toString":1,"10":1,"2":2,"same":1,"same":{"x":[1,2,3]}}',
  '{"same":[1,2,3,4,5,6,7,8,9],"same":2,"":{"":[[],[[]],{}]}}',
  DEEP,
  `{"${"key".repeat(40)}":"${"value".repeat(40)}","x":[[[[[[[[[[1,2,3]]]]]]]]]]}`,
];

test.each(TEXTS)("pieces of any size make the same value as the whole: %.60s", async (text) => {
  const whole = JSON.parse(text);
  for (const pieceBytes of [1, 2, 3, 5, 8, 13, 40, 1000]) {
    const value = await parse(text, pieceBytes);
    expect(value).toEqual(whole);
    expect(JSON.stringify(value)).toBe(JSON.stringify(whole));
  }
});

test("a mark of the byte order is no part of the value, unless it lies in a text", async () => {
  expect(await parse('\ufeff{"x":"\ufeff\ufeff\ufeff","y":[1,2,3]}', 3)).toEqual({
    x: "\ufeff\ufeff\ufeff",
    y: [1, 2, 3],
  });
});

test("a member named __proto__ is one like others", async () => {
  const value = (await parse('{"x":[1,2,3,4],"__proto__":{"y":[1,2,3,4]}}', 2)) as object;
  expect(Object.keys(value)).toEqual(["x", "__proto__"]);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
});

interface Looks {
  readonly x: { readonly data: unknown[] };
  readonly y: { readonly z: { readonly data: unknown[] } };
}

test("lists that look like a tensor's are marked", async () => {
  const empty = '{"dtype":"bytes","shape":[0],"data":[]}';
  for (const pieceBytes of [1, 16, 1000]) {
    const value = (await parse(`{"x":${empty},"y":{"z":${empty}}}`, pieceBytes)) as Looks;
    expect([value.x.data, value.y.z.data].map(isPlainList)).toEqual([true, true]);
  }
});

test("no piece is longer than twice its size where values are short, and there are few steps", () => {
  const json = Buffer.from(`{"x":[${"[1,2],".repeat(100_000)}3],"text":"${"t".repeat(100_000)}"}`);
  const steps = cutJson(json, 1000);
  expect(steps.length / STEP_SIZE).toBeLessThan(1200);
  for (let at = 0; at < steps.length; at += STEP_SIZE) expect(steps[at + 2]! - steps[at + 1]!).toBeLessThan(2000);
});

test("parsing ends where the request does", async () => {
  const leaving = new AbortController();
  const json = Buffer.from(`{"x":[${"{},".repeat(1_000_000)}1]}`);
  const parsed = parsePieces({ json, steps: cutJson(json) }, leaving.signal);
  leaving.abort(new Error("left"));
  await expect(parsed).rejects.toThrow("left");
});

test("others have their turns while it is parsed", async () => {
  const json = Buffer.from(`{"x":[${"{},".repeat(2_000_000)}1]}`);
  let [turns, isOver] = [0, false];
  const turn = () => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await parsePieces({ json, steps: cutJson(json) }, signal);
  isOver = true;
  expect(turns).toBeGreaterThan(5);
});
