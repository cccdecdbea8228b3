import { describe, expect, it } from "vitest";
import { type OptionTable, parseOptions, takesOption } from "../../src/drivers/option-table.ts";

const help = "For tests.";
const table: OptionTable<Record<"text" | "count" | "ratio" | "flag" | "mode" | "session", unknown>> = {
  text: { type: "string", help },
  count: { type: "integer", min: 0, default: 3, help },
  ratio: { type: "number", help },
  flag: { type: "boolean", default: false, help },
  mode: { type: "choice", choices: ["CPU", "GPU"], default: "CPU", help },
  session: { type: "prefix", help },
};

describe("parseOptions", () => {
  it("fills in defaults and leaves options without one out", () => {
    expect(parseOptions(table, {})).toEqual({ count: 3, flag: false, mode: "CPU", session: {} });
  });

  it("leaves keys of others alone", () => {
    expect(parseOptions(table, { other: "1" })).not.toHaveProperty("other");
  });

  it.each([
    ["text", "", ""],
    ["text", "a=b", "a=b"],
    ["count", "0", 0],
    ["count", "+12", 12],
    ["ratio", "-1.5e3", -1500],
    ["flag", "TRUE", true],
    ["flag", "off", false],
    ["mode", "gpu", "GPU"],
  ])("reads %s=%j as %j", (name, text, value) => {
    expect(parseOptions(table, { [name]: text })).toHaveProperty(name, value);
  });

  it.each([
    ["count", "1.5", "an integer of 0 or more"],
    ["count", "-1", "an integer of 0 or more"],
    ["count", "", "an integer of 0 or more"],
    ["count", "0x10", "an integer of 0 or more"],
    ["count", "9007199254740993", "an integer of 0 or more"],
    ["ratio", "much", "a number"],
    ["ratio", " ", "a number"],
    ["ratio", "Infinity", "a number"],
    ["flag", "maybe", "true or false"],
    ["flag", "constructor", "true or false"],
    ["mode", "GPUU", "one of CPU, GPU"],
  ])("refuses %s=%j and says what it takes", (name, text, expected) => {
    const message = expect.stringContaining(`Option "${name}" is "${text}"; expected ${expected}.`);
    const error = expect.objectContaining({ code: "invalid_argument", message });
    expect(() => parseOptions(table, { [name]: text })).toThrow(error);
  });

  it("suggests the choice that was probably meant", () => {
    expect(() => parseOptions(table, { mode: "GPUU" })).toThrow('Did you mean "GPU"?');
  });

  it("gathers a family of keys under its prefix", () => {
    const raw = {
      "session.intra_op.spin": "0",
      "session.__proto__": "x",
      "session.": "none",
      session: "bare",
      sessions: "no",
    };
    const { session } = parseOptions(table, raw);
    expect(Object.entries(session as object)).toEqual([
      ["intra_op.spin", "0"],
      ["__proto__", "x"],
    ]);
  });
});

describe("takesOption", () => {
  it.each(["text", "count", "session.key", "session.a.b"])("knows %s", (key) => {
    expect(takesOption(table, key)).toBe(true);
  });

  it.each(["texts", "session", "session.", "sessions.key", "toString", "__proto__"])("does not know %s", (key) => {
    expect(takesOption(table, key)).toBe(false);
  });
});
