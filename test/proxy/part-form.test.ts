import { describe, expect, test } from "vitest";
import { acceptedParts, EVENTS, LINES, partForm } from "../../src/proxy/part-form.ts";

const headed = (accept?: string) => ({ headers: accept === undefined ? {} : { accept } });

describe("acceptedParts", () => {
  test.each([
    ["text/event-stream"],
    ["Text/Event-Stream ; charset=utf-8"],
    ["application/json;q=0.5, text/event-stream"],
    ["application/json;q=0, text/event-stream;q=0.1, */*"],
    ["application/x-ndjson;q=0.2, text/event-stream;q=0.2"],
    ["text/html, text/event-stream;Q=0.1"],
  ])("are events for %s", (accept) => {
    expect(acceptedParts(headed(accept))).toEqual({ form: EVENTS, orAnswer: false });
  });

  test.each([["application/x-ndjson"], ["text/event-stream;q=0.5, application/x-ndjson, application/json;q=0.9"]])(
    "are lines for %s",
    (accept) => {
      expect(acceptedParts(headed(accept))).toEqual({ form: LINES, orAnswer: false });
    },
  );

  test.each([
    ["application/json, text/event-stream"],
    ["text/event-stream, */*"],
    ["application/*;q=0.5, text/event-stream;q=0.5, */*;q=0.1"],
    ["text/event-stream;q=what, application/json"],
  ])("are as welcome as one answer for %s", (accept) => {
    expect(acceptedParts(headed(accept))).toEqual({ form: EVENTS, orAnswer: true });
  });

  test.each([
    [undefined],
    [""],
    ["*/*"],
    ["text/*"],
    ["application/json"],
    ["text/event-stream;q=0"],
    ["text/event-stream; q=0.000, application/x-ndjson;q=0"],
    ["*/*;q=1, text/event-stream;q=0.1"],
    ["application/json, text/event-stream;q=0.9"],
    ["text/event-streams, x/application/x-ndjson"],
  ])("are none for %s", (accept) => {
    expect(acceptedParts(headed(accept))).toBeUndefined();
  });
});

test.each([
  [undefined, EVENTS],
  ["application/json", EVENTS],
  ["text/event-stream;q=0", EVENTS],
  ["application/json, application/x-ndjson;q=0.1", LINES],
  ["application/x-ndjson;q=0.1, text/event-stream;q=0.2", EVENTS],
])("what always comes in parts is for %s of the form that is named, or events", (accept, form) => {
  expect(partForm(headed(accept))).toBe(form);
});
