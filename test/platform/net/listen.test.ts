import { expect, test } from "vitest";
import { cannotListen } from "../../../src/platform/net/listen.ts";

const FLAGS = { port: "--http-port", host: "--host" };

test.each([
  [
    "listen EADDRINUSE: address already in use :::80",
    "the port is in use; choose another, or 0 for any free one.",
    "the port is in use; choose another with --http-port, or 0 for any free one.",
  ],
  [
    "No address added out of total 1 resolved errors: [listen EACCES: permission denied 0.0.0.0:80]",
    "this user may not listen there; choose a port from 1024 on.",
    "this user may not listen there; choose a port from 1024 on with --http-port.",
  ],
  [
    "listen EADDRNOTAVAIL",
    "the host is not an address of this machine (listen EADDRNOTAVAIL); expected one, or 0.0.0.0 for all of them.",
    "--host is not an address of this machine (listen EADDRNOTAVAIL); expected one, or 0.0.0.0 for all of them.",
  ],
  ["listen EMFILE", "listen EMFILE.", "listen EMFILE."],
])("%s is told with what to do about it, by flag where there are flags", (reason, plain, flagged) => {
  const told = (flags?: typeof FLAGS) => cannotListen("h:80", new Error(reason), flags);
  expect(told()).toMatchObject({ code: "unavailable", message: `Cannot listen on h:80: ${plain}` });
  expect(told(FLAGS).message).toBe(`Cannot listen on h:80: ${flagged}`);
});
