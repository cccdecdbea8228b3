import { expect, test } from "vitest";
import { AccessError } from "../../src/access/access-error.ts";
import { ServingError } from "../../src/errors.ts";

test("a refusal has the headers of its answer, and no other error has any", () => {
  const headers = { "www-authenticate": "Bearer" };
  expect(AccessError.headersOf(new AccessError("unauthenticated", "no", { headers }))).toBe(headers);
  const others = [Object.assign(new ServingError("unauthenticated", "no"), { headers }), undefined, null, "no"];
  for (const other of [...others, { constructor: AccessError, headers }])
    expect(AccessError.headersOf(other)).toEqual({});
});
