import { describe, expect, it } from "vitest";
import { python, servePythonHandlers as serve } from "./serve-python-handlers.ts";

describe.skipIf(python === undefined)("inference.py", () => {
  it("says what it returned where that is no answer, and goes on", async () => {
    const { invoke } = await serve(`
RETURNED = {"dict": {"a": 1}, "none": None, "one": ("x",), "type": ("x", "a\\nb"), "good": (b"", "a/b")}
def handler(data, context):
    return RETURNED[data.read().decode()]`);
    const expected = "expected a body (a text or bytes) and its content type: return body, context.accept_header";
    for (const [body, text] of [
      ["dict", `The hook handler failed: it returned a dict; ${expected}`],
      ["none", `The hook handler failed: it returned None; ${expected}`],
      ["one", `The hook handler failed: it returned (a str); ${expected}`],
      ["type", 'The hook handler returned the content type "a\\nb"; expected one such as application/json.'],
    ] as const) {
      const answer = await invoke(body);
      expect([answer.status, JSON.parse(answer.text)]).toEqual([500, { error: text }]);
    }
    expect(await invoke("good")).toEqual({ status: 200, type: "a/b", text: "" });
  });

  it.each([
    ["x = 1", "inference.py: it has no input_handler; expected the functions input_handler(data, context) and"],
    ["def input_handler(data, context): pass", "inference.py: it has no output_handler; expected"],
    ["handler = 'x'", "inference.py: handler is a str; expected"],
  ])("that has %j ends the start", async (source, message) => {
    await expect(serve(source)).rejects.toThrow(message);
  });
});
