import { describe, expect, test } from "vitest";
import { routeEntries } from "../../src/hooks/route-entries.ts";

const answer = () => ({});
const declare = (declared: unknown) => () => routeEntries(declared, "my.ts");

test("a route has an entry for each of its methods, POST where it names none", () => {
  const routes = [
    { path: "/score", answer },
    { path: "/v1/endpoints/1:predict", methods: ["GET", "DELETE"], answer },
  ];
  const names = [...routeEntries(routes, "my.ts").keys()];
  expect(names).toEqual(["POST /score", "GET /v1/endpoints/1:predict", "DELETE /v1/endpoints/1:predict"]);
});

describe("what is declared wrongly is refused by its place:", () => {
  test.each<[string, unknown, string]>([
    ["a function", answer, 'my.ts: rawRequest is a function; expected { path: "/score"'],
    ["null", null, "my.ts: rawRequest is null; expected"],
    ["a path in a list", ["/a"], "my.ts: rawRequest[0] is a string; expected"],
    ["no path", { answer }, "my.ts: rawRequest.path is undefined; expected a URL's whole path"],
    ["a relative path", { path: "a", answer }, 'my.ts: rawRequest.path is "a"; expected'],
    ["a query", { path: "/a?b", answer }, 'my.ts: rawRequest.path is "/a?b"; expected'],
    ["a space", { path: "/a b", answer }, 'my.ts: rawRequest.path is "/a b"; expected'],
    ["a line break", { path: "/a\n", answer }, "my.ts: rawRequest.path is "],
    ["a misspelt member", { path: "/a", method: "GET", answer }, 'my.ts: rawRequest has "method"; expected'],
    ["no answer", { path: "/a" }, "my.ts: rawRequest.answer is undefined; expected a function of (request, ctx)."],
    ["methods as a text", { path: "/a", methods: "GET", answer }, 'my.ts: rawRequest.methods is "GET"; expected'],
    ["no methods", { path: "/a", methods: [], answer }, "my.ts: rawRequest.methods is an array; expected"],
    ["small letters", { path: "/a", methods: ["GET", "post"], answer }, 'rawRequest.methods[1] is "post"; expected'],
    ["OPTIONS", { path: "/a", methods: ["OPTIONS"], answer }, 'rawRequest.methods[0] is "OPTIONS"; expected'],
  ])("%s", (_, declared, message) => {
    expect(declare(declared)).toThrow(message);
  });

  test("a route twice", () => {
    const twice = [
      { path: "/a", answer },
      { path: "/a", methods: ["GET", "POST"], answer },
    ];
    expect(declare(twice)).toThrow("my.ts declares the route POST /a twice");
  });
});
