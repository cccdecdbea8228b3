import { describe, expect, test } from "vitest";
import { parseOptionFlags } from "../../../src/cli/settings/parse-option-flags.ts";

describe("-o", () => {
  test("without a stage is for all, with a stage for that one", () => {
    expect(parseOptionFlags(["device=CPU", "2:device=GPU", "2:threads=4"], 2)).toEqual({
      shared: { device: "CPU" },
      stages: [{}, { device: "GPU", threads: "4" }],
    });
  });

  test("keeps all of a value and a key's own punctuation", () => {
    expect(parseOptionFlags(["a.b-c=x=y:z,1", "ep:cpu=on", "empty="], 1).shared).toEqual({
      "a.b-c": "x=y:z,1",
      "ep:cpu": "on",
      empty: "",
    });
  });

  test("counts the last of equal keys", () => {
    expect(parseOptionFlags(["a=1", "a=2"], 1).shared).toEqual({ a: "2" });
  });

  test("takes __proto__ as a key like any other, which nothing else then loses", () => {
    const { shared, stages } = parseOptionFlags(["__proto__=1", "1:__proto__=2"], 1);
    expect(Object.entries(shared)).toEqual([["__proto__", "1"]]);
    expect(Object.entries(stages[0] ?? {})).toEqual([["__proto__", "2"]]);
  });

  test.each([
    ["device", 1, '-o is "device"; expected [STAGE:]KEY=VALUE'],
    ["=CPU", 1, '-o is "=CPU"; expected [STAGE:]KEY=VALUE'],
    ["0:a=b", 2, '-o is "0:a=b", but there are 2 stages; expected a stage from 1 to 2.'],
    ["2:a=b", 1, '-o is "2:a=b", but there is 1 stage; expected stage 1.'],
  ])("refuses %s with %i stages", (text, stages, message) => {
    expect(() => parseOptionFlags([text], stages)).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(message) }),
    );
  });
});
