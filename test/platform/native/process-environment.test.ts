import { expect, test } from "vitest";
import { claimForProcess, setEnvironmentDefault } from "../../../src/platform/native/process-environment.ts";

test("sets variables for native code, those that a user has set excepted", () => {
  setEnvironmentDefault("KSERVING_TEST_DEFAULT", "1");
  setEnvironmentDefault("KSERVING_TEST_DEFAULT", "2");
  expect(process.env.KSERVING_TEST_DEFAULT).toBe("1");
});

test("the first caller sets what the process has once", () => {
  expect(claimForProcess("KSERVING_TEST_CLAIM", "mine")).toBe("mine");
  expect(claimForProcess("KSERVING_TEST_CLAIM", "yours")).toBe("mine");
});

test("what another process has once is its own affair", () => {
  process.env.KSERVING_TEST_INHERITED = `${process.ppid}: theirs`;
  expect(claimForProcess("KSERVING_TEST_INHERITED", "mine")).toBe("mine");
  expect(claimForProcess("KSERVING_TEST_INHERITED", "yours")).toBe("mine");
});
