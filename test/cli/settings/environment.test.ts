import { expect, test } from "vitest";
import { misspeltVariables } from "../../../src/cli/settings/environment.ts";

test("a variable that is nearly a setting is pointed out", () => {
  expect(misspeltVariables({ KSERVING_MODEL_PATHS: "a", KSERVING_PORT: "1", PATH: "/bin" })).toEqual([
    "The environment variable KSERVING_MODEL_PATHS is not a setting. Did you mean KSERVING_MODEL_PATH?",
  ]);
});

test("a variable that is far from every setting is not: what all begin with does not count", () => {
  expect(misspeltVariables({ KSERVING_TEST_PERF: "a", KSERVING_HTP_PORT: "1" })).toEqual([
    "The environment variable KSERVING_HTP_PORT is not a setting. Did you mean KSERVING_HTTP_PORT?",
  ]);
});

test("what Kubernetes sets for a service called kserving is left alone", () => {
  const links = ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_GRPC", "PORT_9000_TCP", "PORT_9000_TCP_ADDR"];
  expect(misspeltVariables(Object.fromEntries(links.map((name) => [`KSERVING_${name}`, "x"])))).toEqual([]);
});
