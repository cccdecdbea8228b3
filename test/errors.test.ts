import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fromGrpcStatus, publicText, reasonText, ServingError, STATUS, shortText } from "../src/errors.ts";

test("docs/errors.md lists every code with its numbers, and no other", () => {
  const text = readFileSync(new URL("../docs/errors.md", import.meta.url), "utf8");
  const rows = [...text.matchAll(/^\| `(\w+)` \| (\d+) \| (\d+) \|/gm)].map(([, code, grpc, http]) => [
    code,
    { grpc: Number(grpc), http: Number(http) },
  ]);
  expect(Object.fromEntries(rows)).toEqual(STATUS);
});

test("a gRPC status finds its code, an undefined one is unknown", () => {
  expect([3, 5, 14, 99].map(fromGrpcStatus)).toEqual(["invalid_argument", "not_found", "unavailable", "unknown"]);
});

describe("anything thrown becomes a ServingError", () => {
  test.each([
    [new DOMException("x", "AbortError"), "cancelled"],
    [new DOMException("x", "TimeoutError"), "deadline_exceeded"],
    [new TypeError("x is not a function"), "internal"],
    ["text", "internal"],
    [undefined, "internal"],
  ])("%s", (reason, code) => {
    const error = ServingError.from(reason);
    expect(error).toMatchObject({ code, cause: reason });
    expect(error.message).not.toContain("x is not a function");
  });

  test("and a code that is none becomes unknown, thrown by this copy of the module or another", () => {
    expect(new ServingError("teapot" as never, "short and stout").code).toBe("unknown");
    expect(new ServingError("constructor" as never, "").code).toBe("unknown");
    const foreign = Object.assign(new Error("short and stout"), {
      code: "teapot",
      [Symbol.for("kserving.ServingError")]: true,
    });
    expect(ServingError.from(foreign)).toMatchObject({ code: "unknown", message: "short and stout", cause: foreign });
  });

  test("and a ServingError of another copy of the module stays what it is", () => {
    const foreign = Object.assign(new Error("no such face"), {
      code: "not_found",
      [Symbol.for("kserving.ServingError")]: true,
    });
    expect(ServingError.from(foreign)).toBe(foreign);
  });
});

describe("what a client may see", () => {
  test.each([
    ["open /srv/models/a.onnx failed", "open (path) failed"],
    ["at file:///home/me/hooks.ts:3:4", "at (path)"],
    ["node /conv1/Conv has no input", "node /conv1/Conv has no input"],
    ["first\n    at /srv/app/index.js:1:1", "first"],
    ["C:\\models\\a.onnx is gone", "(path) is gone"],
  ])("of %j is %j", (text, shown) => {
    expect(publicText(new Error(text))).toBe(shown);
  });

  test("of a failed file access is the failure, not the folder", () => {
    const error = Object.assign(new Error("ENOENT: no such file or directory, open '/srv/models'"), {
      path: "/srv/models",
    });
    expect(publicText(error)).toBe("ENOENT: no such file or directory, open '(path)'");
  });

  test("of a file that could not be moved is neither of its two places", () => {
    const error = Object.assign(new Error("EXDEV: cross-device link not permitted, rename 'a.bin' -> 'my/b.bin'"), {
      path: "a.bin",
      dest: "my/b.bin",
    });
    expect(publicText(error)).toBe("EXDEV: cross-device link not permitted, rename '(path)' -> '(path)'");
  });

  test("of a ServingError is its message as it is", () => {
    expect(publicText(new ServingError("internal", "ask /srv/help\nor me"))).toBe("ask /srv/help\nor me");
  });

  test("of a long text is its beginning, at the cost of its length", () => {
    const started = performance.now();
    const shown = publicText(new Error("/a".repeat(100_000)));
    expect(performance.now() - started).toBeLessThan(5000);
    expect(shown).toMatch(/^(?:\/a){2048}… \(195904 more characters\)$/);
  });
});

test("a message with a client's text of megabytes is its beginning, with secrets masked", () => {
  const { message } = new ServingError("invalid_argument", `token=abcdef ${"a=a ".repeat(10_000_000)}`);
  expect(message).toMatch(/^token=\*\*\* (?:a=a )+a=a… \(39983629 more characters\)$/);
});

describe("the text of what was thrown", () => {
  const untold = {
    toString: () => {
      throw new Error("nested");
    },
  };

  test.each([
    ["an Error's message", new Error("no labels"), "no labels"],
    ["the name of an Error without one", new TypeError(), "TypeError"],
    ["what was thrown instead of an Error", "text", "text"],
    ["nothing", undefined, "undefined"],
    ["a symbol", Symbol("x"), "Symbol(x)"],
    ["an object without a text", Object.create(null), "(a value that has no text)"],
    ["the members of an object without a text of its own", { code: 42, stack: "at /srv/a.js" }, '{"code":42}'],
    ["such an object's message", { code: 42, message: "no face" }, "no face"],
    ["the kind of an object that has nothing to tell", {}, "[object Object]"],
    ["an object whose text throws", untold, "(a value that has no text)"],
    [
      "an Error whose message is such an object",
      Object.assign(new Error("x"), { message: untold }),
      "(a value that has no text)",
    ],
  ])("is %s", (_, reason, text) => {
    expect(reasonText(reason)).toBe(text);
  });

  test("is cut where patterns are looked for in it", () => {
    expect(shortText("a".repeat(4096))).toHaveLength(4096);
    expect(shortText("a".repeat(5000))).toBe(`${"a".repeat(4096)}… (904 more characters)`);
  });
});
