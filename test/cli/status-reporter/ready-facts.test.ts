import { expect, it } from "vitest";
import { openAccessNotice } from "../../../src/cli/status-reporter/ready-facts.ts";

it.each(["127.0.0.1", "127.8.9.1", "::1", "localhost"])("a server on %s alone needs no notice", (host) => {
  expect(openAccessNotice(host, "all")).toBeUndefined();
});

it.each(["0.0.0.0", "::", "10.0.0.1", "models.internal"])("a server on %s reports what every client may do", (host) => {
  expect(openAccessNotice(host, "off")).toMatch(/^Every client .* may run models: /);
  expect(openAccessNotice(host, "all")).toContain("load and unload models");
});
