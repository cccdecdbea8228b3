import { describe, expect, test } from "vitest";
import { checkResponse } from "../../src/hooks/check-response.ts";

test("texts pass", () => {
  const response = { metadata: { "x-faces": "3" }, contentType: "image/jpeg" };
  expect(checkResponse(response)).toEqual(response);
  expect(checkResponse({ metadata: {} })).toEqual({ metadata: {} });
});

describe("what no header carries is refused, with its place:", () => {
  test.each<[unknown, string]>([
    [undefined, "ctx.response.metadata to undefined"],
    [{ metadata: [] }, "ctx.response.metadata to an array"],
    [{ metadata: { faces: 3 } }, 'ctx.response.metadata["faces"] to a number'],
    [{ metadata: { faces: null } }, 'ctx.response.metadata["faces"] to null'],
    [{ metadata: {}, contentType: 1 }, "ctx.response.contentType to a number"],
    [{ metadata: {}, contentType: "" }, 'ctx.response.contentType to ""'],
    [{ metadata: {}, contentType: "a/b\r\nx: y" }, "ctx.response.contentType to"],
  ])("%o", (response, message) => {
    expect(() => checkResponse(response)).toThrow(
      expect.objectContaining({ code: "internal", message: expect.stringContaining(message) }),
    );
  });
});
